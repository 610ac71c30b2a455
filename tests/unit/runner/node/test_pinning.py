"""Which core each node has, on machines of many kinds, and that what runs on a node runs there."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.fakes import MARKER, FakeEvents, FakeLabShell, move_home, shard
from tests.helpers.machines import one_core
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node import pinning
from tunbench.runner.node.node import Node
from tunbench.runner.node.pinning import Pins, kept_to, pins
from tunbench.runner.node.shell import LocalShell, Result
from tunbench.runner.shard import live

PAIR = ["a", "b", "router"]


def machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, siblings: Sequence[str], packages: Sequence[int] = ()
) -> set[int]:
    """A machine of which core N has the siblings and the package at position N; all of its cores."""
    monkeypatch.setattr(pinning, "CORES", folder)
    for core, text in enumerate(siblings):
        place = folder / f"cpu{core}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(f"{text}\n")
        (place / "physical_package_id").write_text(f"{packages[core] if packages else 0}\n")
    return set(range(len(siblings)))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_without_a_core_for_everything_else_no_node_has_its_own(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores = machine(tmp_path, monkeypatch, [str(core) for core in range(count)])
    assert pins(PAIR, cores) is None


@pytest.mark.parametrize(
    ("siblings", "packages", "nodes", "rest"),
    [
        (["0", "1", "2", "3"], (), [1, 2, 3], (0,)),
        # Two hardware threads a core, counted one after the other or in two rounds: what shares a core stays idle.
        (["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7"], (), [2, 4, 6], (0, 1)),
        (["0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"], (), [1, 2, 3], (0, 4)),
        # Four hardware threads on two cores: there is no other way.
        (["0,2", "1,3", "0,2", "1,3"], (), [1, 2, 3], (0,)),
        # Cores of two packages that are numbered in turn.
        ([str(core) for core in range(8)], [0, 1] * 4, [2, 4, 6], (0, 1, 3, 5, 7)),
    ],
)
def test_nodes_have_physical_cores_of_their_own(
    siblings: list[str],
    packages: Sequence[int],
    nodes: list[int],
    rest: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cores = machine(tmp_path, monkeypatch, siblings, packages)
    assert pins(PAIR, cores) == Pins(dict(zip(PAIR, nodes, strict=True)), rest)


def test_cores_that_may_not_be_used_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(tmp_path, monkeypatch, ["0,4", "1,5", "2,6", "3,7"] * 2)
    found = pins(PAIR, {2, 3, 5, 6, 7})
    assert found == Pins({"a": 3, "b": 5, "router": 6}, (2,)), "6 shares its core with 2, and there are but three"


def test_a_machine_that_shows_no_topology_has_cores_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinning, "CORES", tmp_path)
    assert pins(PAIR, range(4)) == Pins({"a": 1, "b": 2, "router": 3}, (0,))


def test_a_list_of_the_kernel_is_read() -> None:
    assert pinning._numbers("0-2,7\n") == [0, 1, 2, 7]
    assert pinning._numbers("-1\n") == pinning._numbers("") == []


def test_this_process_keeps_away_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = one_core(monkeypatch, {0, 1, 2, 3})
    with pytest.raises(KeyboardInterrupt), kept_to((0, 3)):
        assert asked == [{0, 3}]
        raise KeyboardInterrupt
    assert asked == [{0, 3}, {0, 1, 2, 3}]
    with kept_to(()):
        assert len(asked) == 2


class Raw(FakeLabShell):
    """Keeps the words of each command with what enters the node."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, "proof-none.pcap")
        self.raw: list[list[str]] = []

    def run(self, argv: Sequence[str], timeout: float, stdin: str = "") -> Result:
        self.raw.append(list(argv))
        return super().run(argv, timeout, stdin)


def lived(folder: Path, monkeypatch: pytest.MonkeyPatch, cores: set[int]) -> tuple[Raw, FakeEvents]:
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    monkeypatch.setattr(pinning, "CORES", folder / ".nothing")
    one_core(monkeypatch, cores)
    shell, events = Raw(move_home(monkeypatch, folder, "made")), FakeEvents()
    live(shard("none", 1, "ping:count=5,interval=0.01").spec(), EmulatedNetwork(shell, cores), events)
    assert {(one["verdict"], one["reason"]) for one in events.of("trial")} == {("ok", "")}
    return shell, events


def test_what_runs_on_a_node_runs_on_its_core_and_a_person_types_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, events = lived(tmp_path, monkeypatch, {0, 1, 2, 3})
    assert events.of("pinned") == [{"event": "pinned", "nodes": {"a": 1, "b": 2, "router": 3}, "rest": [0]}]
    entered = [words[words.index("--") + 1 :] for words in shell.raw if words[0] == "nsenter"]
    assert all(words[:2] == ["taskset", "-c"] for words in entered)
    assert {words[2] for words in entered} == {"0", "1", "2", "3"}
    assert any(text.startswith("ip netns exec a taskset -c 1 ping -n ") for text in events.commands)
    batches = [text for text in events.commands if " -batch " in text and "netns exec" in text]
    assert batches and not any("taskset" in text for text in batches), "they configure, and run nothing"


@pytest.mark.parametrize("cores", [{0}, {0, 1, 2}])
def test_with_too_few_cores_nothing_is_typed_or_told_of_them(
    cores: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, events = lived(tmp_path, monkeypatch, cores)
    assert events.of("pinned") == []
    assert not any("taskset" in words for words in shell.raw)
    assert not any("taskset" in text for text in events.commands)


def test_a_real_command_runs_where_its_node_is_pinned() -> None:
    core = str(max(os.sched_getaffinity(0)))
    # As a node has it, without the namespaces, which need root.
    node = Node("a", LocalShell(), FakeEvents(), ["env", "--", "taskset", "-c", core])
    assert node.run("sh", "-c", "taskset -pc $$ | sed 's/.*: //'").strip() == core
