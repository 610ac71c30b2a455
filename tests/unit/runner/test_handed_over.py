"""What a shard is handed in two parts, and when the second one is read."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import MARKER, Answer, FakeEvents, FakeLabShell, move_home, shard
from tunbench.runner import stack
from tunbench.runner.handed_over import HandedOver, in_two_parts
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node.shell import Result
from tunbench.runner.shard import live

PING = "ping:count=5,interval=0.01"

UNTIL_UP = ["nodes", "underlay", "watch", "prepare", "up", "proof"]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    return move_home(monkeypatch, tmp_path, "made")


class Lived:
    """A shard that was handed in two parts, and what happened to the second one after which phases."""

    def __init__(self, home: Path, answers: dict[str, Answer] | None = None) -> None:
        self.events, self.happened = FakeEvents(), list[tuple[str, list[str]]]()
        first, self.second = in_two_parts(shard("none", 1, PING).spec())
        spec = HandedOver(first, self.read, lambda: self.note("save"))
        live(spec, EmulatedNetwork(FakeLabShell(home, "proof-none.pcap", answers)), self.events)

    def read(self) -> Mapping[str, Any]:
        self.note("read")
        return self.second

    def note(self, what: str) -> None:
        self.happened.append((what, [one["name"] for one in self.events.of("phase")]))

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        return [(trial["workload"], trial["verdict"]) for trial in self.events.of("trial")]


def test_the_second_part_is_read_once_the_stack_is_up_and_saved(home: Path) -> None:
    lived = Lived(home)
    assert lived.happened == [("save", UNTIL_UP), ("read", UNTIL_UP)]
    assert lived.verdicts == [("up", "ok"), (PING, "ok")]


def test_where_the_stack_fails_it_is_read_and_nothing_is_saved(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "ANSWER_TIMEOUT", 0.1)
    lived = Lived(home, {"ping -n -c 1": Result(1, "", "")})
    assert [what for what, _ in lived.happened] == ["read"]
    assert lived.verdicts == [("up", "failed"), (PING, "failed")]


def test_two_parts_are_the_whole() -> None:
    spec = shard("wireguard", 1, PING).spec()
    first, second = in_two_parts(spec)
    assert {**first, **second} == {**spec, "pairs": [["a", "b", "a", "b"]]}
    assert not first.keys() & second.keys()
    handed = HandedOver(first, lambda: second)
    assert {name: handed[name] for name in spec} == spec
    assert dict(handed) == {**spec, "pairs": handed["pairs"]} and len(handed) == len(spec) + 1


def test_what_it_lacks_is_not_looked_for_in_the_second_part() -> None:
    def read() -> Mapping[str, Any]:
        raise AssertionError("it is not there yet")

    handed = HandedOver({"pairs": []}, read)
    assert handed.get("access") is None
    assert "stack" not in handed
