"""What `tc` is told to install and says of it: in one batch a node, by kind, with sound counters."""

import json

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.network import qdiscs
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

LINES = ["qdisc replace dev eth0 root netem delay 1ms", "qdisc replace dev eth0 parent 1:1 tbf rate 1mbit"]
UNKNOWN = "Error: Specified qdisc kind is unknown.\n"


def node(shell: FakeShell, events: FakeEvents | None = None) -> Node:
    return Node("a", shell, events or FakeEvents(), ["nsenter", "--target", "7", "--"])


def test_lines_are_one_batch_that_a_person_could_type() -> None:
    shell, events = FakeShell(), FakeEvents()
    qdiscs.install(node(shell, events), LINES)
    assert [(call.text, call.stdin) for call in shell.calls] == [("tc -batch -", f"{LINES[0]}\n{LINES[1]}\n")]
    assert events.commands == [f"ip netns exec a tc -batch - <<'END'\n{LINES[0]}\n{LINES[1]}\nEND"]


def test_tc_enters_a_node_by_itself() -> None:
    words: list[list[str]] = []

    class Words(FakeShell):
        def run(self, argv: object, timeout: float, stdin: str = "") -> Result:
            words.append(list(argv))  # type: ignore[call-overload]
            return Result(0, "[]", "")

    qdiscs.install(node(Words()), LINES)
    qdiscs.on(node(Words()), "eth0")
    assert words == [
        ["tc", "-n", "a", "-batch", "-"],
        ["tc", "-n", "a", "-s", "-j", "qdisc", "show", "dev", "eth0"],
    ]


def test_nothing_to_install_is_nothing_to_do() -> None:
    shell = FakeShell()
    qdiscs.install(node(shell), [])
    assert shell.calls == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (LINES[:1], r"^this kernel has no netem \(module sch_netem\)$"),
        (LINES[1:], r"^this kernel has no tbf \(module sch_tbf\)$"),
        (LINES, r"^this kernel has no netem \(module sch_netem\) or no tbf \(module sch_tbf\)$"),
    ],
)
def test_a_kernel_without_a_qdisc_is_unsupported(lines: list[str], message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        qdiscs.install(node(FakeShell({"-batch": Result(1, "", UNKNOWN + "Command failed -:1\n")})), lines)


def test_an_image_without_tables_is_unsupported() -> None:
    shown = "No distribution data for normal (/usr/lib/x86_64-linux-gnu/tc//normal.dist: No such file or directory)\n"
    with pytest.raises(Unsupported, match="tables of distributions"):
        qdiscs.install(node(FakeShell({"-batch": Result(1, "", shown)})), LINES)


def test_what_tc_refuses_is_a_failure() -> None:
    with pytest.raises(CommandFailed, match="Invalid argument"):
        qdiscs.install(node(FakeShell({"-batch": Result(2, "", "RTNETLINK answers: Invalid argument\n")})), LINES)


def test_qdiscs_are_known_by_their_kinds() -> None:
    there = qdiscs.on(node(FakeShell({"qdisc show dev eth0": captured("qdisc-link.json")})), "eth0")
    assert list(there) == ["netem", "tbf", "clsact"]
    assert there["tbf"]["options"]["rate"] == 6_250_000
    assert qdiscs.counters(there["netem"]) == {"packets": 8994, "bytes": 13591613, "drops": 0, "qlen": 0}


@pytest.mark.parametrize("text", ["", "[]", '[{"kind":"noqueue","root":true}]'])
def test_where_nothing_is_installed_nothing_was_carried(text: str) -> None:
    assert qdiscs.counters(qdiscs.by_kind(text).get("tbf", {})) == dict.fromkeys(qdiscs.COUNTERS, 0)


@pytest.mark.parametrize("name", qdiscs.COUNTERS)
@pytest.mark.parametrize("value", [None, -1, 1 << 64, 1.5, "7", True])
def test_a_counter_that_is_none_is_not_zero(name: str, value: object) -> None:
    [lossy] = json.loads(captured("qdisc-loss.json"))
    with pytest.raises(WorkloadFailed, match=f"no sound number at {name}: "):
        qdiscs.counters({**lossy, name: value})
    del lossy[name]
    with pytest.raises(WorkloadFailed, match=f"no sound number at {name}: None"):
        qdiscs.counters(lossy)
