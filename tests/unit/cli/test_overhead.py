"""What `tunbench overhead` prints where the sizes agree, differ, are missing, or a stack failed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import terminal
from tests.helpers.fakes import FakeExecution
from tests.helpers.runs import ScriptedLab, batches, invoke, runs_here
from tunbench.analysis import overhead
from tunbench.journal.readers.registry import record_of
from tunbench.labs import registry as labs
from tunbench.plan.shard import Shard
from tunbench.runner.declare import spelling

Trial = dict[str, Any]
Change = Callable[[Shard, Trial], Trial]


def size_of(built_stack: Any, workload: str) -> int:
    """The packet of a workload in the overlay, whether it fits or not."""
    payload = spelling.part(workload).options.get("payload")
    return int(payload) + 28 if payload else int(overhead.limits(built_stack).mtu)


def told(shard: Shard, change: Change) -> list[Trial]:
    """What the runner tells where everything is as computed, but for what `change` makes of each trial."""
    built_stack = overhead.built(shard.stack.name)
    limits = overhead.limits(built_stack)
    trials: list[Trial] = [{"workload": "up", "samples": [["connect", "s", 0.1, None, "a-b", "a"]]}]
    for workload in (one.name for one in shard.workloads):
        if workload == "pmtu":
            samples = [["pmtu", "B", limits.mtu, None, "a-b", "a"], ["mss", "B", limits.mss, None, "a-b", "a"]]
            trials.append({"workload": workload, "samples": samples})
            continue
        sizes = overhead.computed(built_stack, size_of(built_stack, workload))
        outputs = {"overhead.json": json.dumps({"packet": sizes.packet, "below": sizes.below})}
        trials.append(
            {"workload": workload, "samples": [["overhead", "B", sizes.total, None, "a-b", "a"]], "outputs": outputs},
        )
    usual = {"event": "trial", "verdict": "ok", "reason": ""}
    return [*(change(shard, {**usual, **trial}) for trial in trials), {"event": "phase", "name": "end", "at": 4.0}]


def agree(shard: Shard, trial: Trial) -> Trial:
    return trial


def without(trial: Trial, verdict: str, reason: str) -> Trial:
    return {**trial, "verdict": verdict, "reason": reason, "samples": [], "outputs": {}}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return runs_here(monkeypatch, tmp_path)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Lets the lab tell what is computed, changed by a function."""

    def scripted(change: Change) -> None:
        made = ScriptedLab(lambda shard: FakeExecution(batches(told(shard, change))))
        monkeypatch.setattr(labs, "lab", lambda kind, clock: made)

    return scripted


def cells(printed: str) -> list[list[str]]:
    """The rows of the tables, without their heads."""
    return [row for _, rows in terminal.tables(printed) for row in rows]


def test_sizes_that_agree(lab: Callable[[Change], None]) -> None:
    lab(agree)
    result = invoke("overhead", "ipip", "--payload", "100", "--payload", "16", "--out", "begun")
    assert result.exit_code == 0
    assert cells(result.stdout) == [
        ["44", "20", "20", "64"],
        ["128", "20", "20", "148"],
        ["1480", "20", "20", "1500"],
    ]
    assert "  ipip: IPv4 20\n    RFC 791, section 3.1\n" in result.stdout
    limits = "largest packet unfragmented 1480 B, measured 1480; TCP MSS 1440 B, measured 1440"
    assert limits in result.stdout
    assert record_of(Path("begun")).manifest["plan"]["stacks"] == ["ipip"]


def test_layers_have_a_column_each(lab: Callable[[Change], None]) -> None:
    lab(agree)
    result = invoke("overhead", "wireguard+vxlan", "none", "--payload", "56", "--out", "begun")
    assert result.exit_code == 0
    # 84 B become 134 by VXLAN, which WireGuard pads to 144.
    assert cells(result.stdout) == [
        ["84", "70", "50", "120", "120", "204"],
        ["1390", "60", "50", "110", "110", "1500"],
        ["84", "0", "0", "84"],
        ["1500", "0", "0", "1500"],
    ]
    assert "padded to 16 within the MTU" in result.stdout
    assert "  none: adds nothing\n" in result.stdout


def larger(shard: Shard, trial: Trial) -> Trial:
    """One byte more below the second layer of the packet of 44 B."""
    if trial["workload"] != "overhead:payload=16":
        return trial
    sizes = {"packet": 44, "below": [44 + 20 + 24 + 1, 44 + 24 + 1]}
    return {**trial, "outputs": {"overhead.json": json.dumps(sizes)}}


def test_a_size_that_differs_shows_at_which_layer(lab: Callable[[Change], None]) -> None:
    lab(larger)
    result = invoke("overhead", "ipip+gre", "--payload", "16", "--payload", "32", "--out", "begun")
    assert result.exit_code == 1
    assert cells(result.stdout) == [
        ["44", "20", "24", "44", "45 (20 + 25)", "88"],
        ["60", "20", "24", "44", "44", "104"],
        ["1456", "20", "24", "44", "44", "1500"],
    ]
    assert "  gre declares 1 B less than the capture shows\n" in result.stdout
    assert "ipip declares" not in result.stdout


def four_less(shard: Shard, trial: Trial) -> Trial:
    """Four bytes less below the first layer of the small packets, as where a header of it is declared too large."""
    if "payload" not in trial["workload"]:
        return trial
    packet = 28 + int(trial["workload"].partition("=")[2])
    return {**trial, "outputs": {"overhead.json": json.dumps({"packet": packet, "below": [packet + 16]})}}


def test_a_header_that_is_declared_too_large_is_told_in_words(lab: Callable[[Change], None]) -> None:
    lab(four_less)
    result = invoke("overhead", "ipip", "--payload", "16", "--payload", "32", "--out", "begun")
    assert result.exit_code == 1
    assert "  ipip declares 4 B more than the capture shows\n" in result.stdout
    lab(agree)
    assert "declares" not in invoke("overhead", "ipip", "--payload", "16", "--out", "again").stdout


def shifted(shard: Shard, trial: Trial) -> Trial:
    """The sum is right, and what each layer adds is not."""
    if trial["workload"] != "overhead:payload=16":
        return trial
    return {**trial, "outputs": {"overhead.json": json.dumps({"packet": 44, "below": [88, 69]})}}


def test_a_sum_that_is_right_by_chance_is_no_agreement(lab: Callable[[Change], None]) -> None:
    lab(shifted)
    result = invoke("overhead", "ipip+gre", "--payload", "16", "--out", "begun")
    assert result.exit_code == 1
    assert cells(result.stdout)[0] == ["44", "20", "24", "44", "44 (19 + 25)", "88"]


def smaller(shard: Shard, trial: Trial) -> Trial:
    if trial["workload"] != "pmtu":
        return trial
    return {**trial, "samples": [["pmtu", "B", 1479, None, "a-b", "a"], ["mss", "B", 1440, None, "a-b", "a"]]}


def test_a_limit_that_differs(lab: Callable[[Change], None]) -> None:
    lab(smaller)
    result = invoke("overhead", "ipip", "--payload", "16", "--out", "begun")
    assert result.exit_code == 1
    assert "unfragmented 1480 B, measured 1479; TCP MSS 1440 B, measured 1440" in result.stdout


def test_what_was_not_measured_is_no_agreement(lab: Callable[[Change], None]) -> None:
    lab(lambda shard, trial: without(trial, "failed", "torn") if trial["workload"] == "pmtu" else trial)
    result = invoke("overhead", "ipip", "--payload", "16", "--out", "begun")
    assert result.exit_code == 1
    assert "unfragmented 1480 B, measured –; TCP MSS 1440 B, measured –" in result.stdout
    assert ["44", "20", "20", "64"] in cells(result.stdout)


def test_a_stack_that_failed_says_why_and_the_others_are_shown(lab: Callable[[Change], None]) -> None:
    reason = "gre: b did not answer [a] within 50 s"
    lab(lambda shard, trial: without(trial, "failed", reason) if shard.stack.name == "gre" else trial)
    result = invoke("overhead", "gre", "ipip", "--payload", "16", "--out", "begun")
    assert result.exit_code == 1
    assert cells(result.stdout) == [
        *(["44", "24", "–", "68"], ["1476", "24", "–", "1500"]),
        *(["44", "20", "20", "64"], ["1480", "20", "20", "1500"]),
    ]
    assert f"  {reason}\n" in result.stdout


def test_a_payload_that_does_not_fit_is_left_out(lab: Callable[[Change], None]) -> None:
    def fits(shard: Shard, trial: Trial) -> Trial:
        return without(trial, "unsupported", "does not fit") if trial["workload"].endswith("=1453") else trial

    lab(fits)
    result = invoke("overhead", "ipip", "--payload", "1452", "--payload", "1453", "--out", "begun")
    assert result.exit_code == 0
    assert [row[0] for row in cells(result.stdout)] == ["1480", "1480"]


def test_findings_as_json(lab: Callable[[Change], None]) -> None:
    lab(larger)
    result = invoke("overhead", "ipip+gre", "--payload", "16", "--out", "begun", "--json")
    assert result.exit_code == 1
    [found] = json.loads(result.stdout)["rows"]
    assert (found["stack"], found["agrees"], found["reason"]) == ("ipip+gre", False, "")
    assert [layer["layer"] for layer in found["layers"]] == ["ipip", "gre"]
    assert found["layers"][1]["headers"][1] == {"name": "GRE", "size": 4, "source": "RFC 2784, section 2.1"}
    assert found["packets"] == [
        {"packet": 44, "computed": [20, 24], "measured": [20, 25], "pieces": 1, "measured_pieces": 1},
        {"packet": 1456, "computed": [20, 24], "measured": [20, 24], "pieces": 1, "measured_pieces": 1},
    ]
    assert found["computed"] == found["measured"] == {"mtu": 1456, "mss": 1416}


def test_json_says_null_where_nothing_was_measured(lab: Callable[[Change], None]) -> None:
    lab(lambda shard, trial: without(trial, "failed", "it broke"))
    [found] = json.loads(invoke("overhead", "ipip", "--out", "begun", "--json").stdout)["rows"]
    assert (found["agrees"], found["reason"], found["measured"]) == (False, "it broke", None)
    assert {packet["measured"] for packet in found["packets"]} == {None}


def test_where_nothing_is_measured_the_machine_lacks_something(lab: Callable[[Change], None]) -> None:
    lab(lambda shard, trial: without(trial, "unsupported", "mycelium is not installed"))
    result = invoke("overhead", "mycelium", "--out", "begun")
    assert result.exit_code == 2
    first = result.stderr.splitlines()[0]
    assert first.startswith("not on PATH: mycelium; put it on PATH, name its file in config.toml, or bring it with: ")
    lab(lambda shard, trial: without(trial, "failed", "it broke") if trial["workload"] != "pmtu" else trial)
    assert invoke("overhead", "ipip", "--out", "again").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calico"], "STACKS: the endpoints of calico are pods of a cluster, and pair is none: take one of them away"),
        (["wiregaurd"], 'unknown tunnel "wiregaurd"; did you mean "wireguard"?'),
        (["ipip+macvlan"], "macvlan needs Ethernet below it"),
    ],
)
def test_what_is_no_stack_is_bad_input(arguments: list[str], message: str) -> None:
    result = invoke("overhead", *arguments, "--out", "begun")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "overhead.toml" not in result.stderr and "exclude" not in result.stderr
    assert not Path("begun").exists()
