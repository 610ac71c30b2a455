from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.comparisons import comparison_of, failures, speeds, spread
from tests.helpers.records import PING
from tunbench.analysis.compare.gate import SIDES, GateResult, gate
from tunbench.analysis.compare.runs import RunComparison
from tunbench.analysis.compare.selection import Selection
from tunbench.journal.record import TrialResult
from tunbench.report import change_wording
from tunbench.report.export import junit, markdown


def judged(
    a: Sequence[TrialResult], b: Sequence[TrialResult], tolerance: float = 0.02, strict: bool = False
) -> GateResult:
    return gate(comparison_of(a, b, sides=SIDES), tolerance, strict)


def outcome(a: Sequence[TrialResult], b: Sequence[TrialResult], tolerance: float = 0.02) -> tuple[str, str]:
    [one] = judged(a, b, tolerance).cells
    return one.outcome, one.why


def test_worse_beyond_the_tolerance_stops_and_within_it_does_not() -> None:
    a, b = speeds("gre", spread(1e9, 1)), speeds("gre", spread(0.9e9, 2))
    [one] = comparison_of(a, b).rows
    least = one.least
    assert least is not None
    assert 0.08 < least < 0.1
    assert outcome(a, b, 0.05) == ("worse", f"by at least {least:.2%}".replace("%", " %"))
    assert outcome(a, b, least + 1e-9) == ("passed", "worse, but not by more than the tolerance beyond doubt")
    assert outcome(a, b, least - 1e-9)[0] == "worse"
    assert outcome(b, a) == ("passed", "better")


def test_an_interval_that_reaches_into_the_tolerance_passes() -> None:
    # The shift itself is beyond 2 %, the near end of its interval is not.
    a, b = speeds("gre", spread(1e9, 1)), speeds("gre", spread(0.979e9, 2))
    [one] = judged(a, b).cells
    assert one.row.relative is not None
    assert one.row.relative < -0.02
    assert (one.outcome, one.row.verdict) == ("passed", "worse")


def test_a_difference_that_is_not_shown_passes_however_large_it_looks() -> None:
    a = speeds("gre", [1.0, 9, 1, 9, 1, 9, 1, 9])
    assert outcome(a, speeds("gre", [1.0, 8, 1, 8, 1, 1, 1, 1])) == ("passed", "no difference shown")


def test_failed_and_missing_cells_stop_and_new_ones_do_not() -> None:
    base = speeds("none", spread(1e9, 1))
    for a, b, expected in (
        (speeds("gre", [1.0]), failures("gre", [1]), ("failed", "1 of 1 trials failed: it broke")),
        (speeds("gre", [1.0]), [], ("missing", "no trial of it in the new run")),
        ([], speeds("gre", [1.0]), ("new", "the base has no value of it")),
        (failures("gre", [1]), [], ("passed", "failed in the base")),
        (failures("gre", [1]), failures("gre", [1]), ("passed", "failed in both")),
    ):
        found = judged([*base, *a], [*base, *b])
        one = next(one for one in found.cells if one.row.stack == "gre")
        assert (one.outcome, one.why) == expected
        assert found.passes is (expected[0] in ("passed", "new"))


def test_a_gate_calls_its_runs_by_one_pair_of_names() -> None:
    a = [*speeds("gre", spread(1e9, 1)), *speeds("ipip", [1.0, 2.0]), *failures("ipip", [3])]
    both = comparison_of(a, a, sides=SIDES)
    assert [row.why for row in both.rows if row.stack == "ipip"] == [
        "the base: 2 ok of 3 trials; the new run: 2 ok of 3 trials"
    ]
    assert "shift from the base to the new run" in change_wording.method(both)
    assert "shift from the base to the new run" in markdown.markdown(gate(both, 0.02), both)


def test_a_run_that_lacks_trials_does_not_pass() -> None:
    both = comparison_of(speeds("gre", spread(1e9, 1)), speeds("gre", spread(1e9, 2)))
    found = gate(both._replace(lacking=(0, 3)), 0.02)
    assert gate(both, 0.02).passes and not found.passes
    assert change_wording.of_gate(found).endswith("; 3 trials of the new run are missing")
    assert "3 trials of the new run are missing" in junit.xml(found)


@pytest.mark.parametrize("strict", [False, True])
def test_a_base_that_lacks_trials_is_told_and_stops_a_strict_gate(strict: bool) -> None:
    both = comparison_of(speeds("gre", spread(1e9, 1)), speeds("gre", spread(1e9, 2)), sides=SIDES)
    both = both._replace(lacking=(3, 0))
    found = gate(both, 0.02, strict)
    told = "3 trials of the base are missing"
    assert found.passes is not strict
    assert change_wording.of_gate(found).endswith(f"1 passed; {told}")
    assert change_wording.of_gate(found._replace(identical=True)).endswith(f"(1 cell); {told}")
    assert told in markdown.markdown(found, both)
    [suite] = ElementTree.fromstring(junit.xml(found))
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == (
        ("2", "1", "0") if strict else ("2", "0", "1")
    )
    assert told in suite[0][0].attrib["message"]


@pytest.mark.parametrize("strict", [False, True])
def test_new_cells_pass_beside_a_finished_base_and_are_counted_as_new(strict: bool) -> None:
    base = speeds("none", spread(1e9, 1))
    found = judged(base, [*base, *speeds("gre", spread(1e9, 2))], strict=strict)
    assert (found.passes, found.counts) == (True, {"new": 1, "passed": 1})
    [suite] = ElementTree.fromstring(junit.xml(found))
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("0", "1")


def test_where_no_cell_has_values_in_both_nothing_passed() -> None:
    speedy, broken = speeds("gre", spread(1e9, 1)), failures("gre", [1, 2])
    for a, b in (([], speedy), (broken, speedy), (broken, broken), (speeds("none", [1.0]), speedy)):
        found = judged(a, b)
        assert not found.passes
        assert change_wording.of_gate(found).endswith("; nothing was compared: no cell has values in both runs")
        assert 'type="undecided" message="nothing was compared' in junit.xml(found)


def test_nothing_is_decided_where_the_other_cells_are_new() -> None:
    few = speeds("none", spread(1e9, 1, 3))
    assert not judged(few, [*speeds("none", spread(1e9, 2, 3)), *speeds("gre", spread(1e9, 2))]).decided
    assert judged(few, few).decided


def test_a_new_cell_of_which_nothing_is_well_has_failed() -> None:
    found = judged(speeds("none", spread(1e9, 1)), [*speeds("none", spread(1e9, 1)), *failures("gre", [1])])
    assert [one.outcome for one in found.cells if one.row.stack == "gre"] == ["failed"]


def test_undecided_cells_stop_where_that_is_asked_for() -> None:
    a, b = speeds("gre", spread(1e9, 1, 3)), speeds("gre", spread(0.1e9, 2, 3))
    assert outcome(a, b) == ("undecided", "3 and 3 trials; it needs 8 on both sides")
    assert judged(a, b).passes
    assert not judged(a, b, strict=True).passes
    assert judged(a, b, strict=True).stopping == judged(a, b).undecided


def test_identical_cells_pass_a_strict_gate_of_no_tolerance() -> None:
    a = speeds("gre", spread(1e9, 1, 3))
    assert judged(a, a, 0.0, strict=True).passes


def test_where_the_base_is_zero_any_worsening_is_beyond_every_tolerance() -> None:
    def lost(values: Sequence[float]) -> list[TrialResult]:
        return speeds("gre", values, PING, "loss", "ratio")

    def of(a: Sequence[float], b: Sequence[float], tolerance: float) -> str:
        [one] = gate(comparison_of(lost(a), lost(b), Selection(("loss",))), tolerance).cells
        return one.outcome

    none, some = [0.0] * 10, [0.01, 0.02] * 5
    assert of(none, some, 0.99) == "worse"
    assert of(some, none, 0.0) == "passed"
    # Not all values are positive, A's median is 1 %: it is the absolute shift by that median.
    few = [0.0, 0.01] * 2 + [0.01] * 6
    assert of(few, [0.03] * 10, 0.5) == "worse"
    assert of(few, [0.03] * 10, 1.0) == "worse"
    assert of([0.0, *[0.02] * 9], [0.03] * 10, 0.6) == "passed"


def test_what_is_neither_good_nor_bad_stops_nothing() -> None:
    a, b = (speeds("gre", spread(middle, 1), metric="carried", unit="B") for middle in (1e6, 2e6))
    found = gate(comparison_of(a, b, Selection(("carried",))), 0.0)
    assert [(one.outcome, one.why) for one in found.cells] == [("passed", "different")]


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_larger_tolerance_never_stops_more(one: float, other: float) -> None:
    low, high = sorted((one, other))
    rows = COMPARED
    assert {cell.row.stack for cell in gate(rows, high).stopping} <= {
        cell.row.stack for cell in gate(rows, low).stopping
    }


def mixed() -> tuple[list[TrialResult], list[TrialResult]]:
    """Runs with every outcome; names have what Markdown, HTML and XML take for their own."""
    stacks = {"gre": 0.9, "ipip": 1.1, "vxlan": 0.5, "none": 1.0}
    a = [one for stack in stacks for one in speeds(stack, spread(1e9, 1))]
    b = [one for number, stack in enumerate(stacks) for one in speeds(stack, spread(1e9 * stacks[stack], number + 2))]
    a += [*speeds("geneve", [1.0] * 3), *speeds("wireguard", spread(1, 1, 3)), *speeds("macvlan", [1.0])]
    b += [
        *failures("geneve", [1, 2, 3], "a|b <b> & `c` *d*\x1b[31m\x00]]> \\[e](f) \\| _g_ ~h~"),
        *speeds("wireguard", spread(1, 2, 3)),
    ]
    return a, b


COMPARED: RunComparison = comparison_of(*mixed())


def test_the_outcomes_are_counted_the_worst_first() -> None:
    found = gate(COMPARED, 0.02)
    assert found.counts == {"failed": 1, "worse": 2, "missing": 1, "undecided": 1, "passed": 2}
    assert [one.outcome for one in found.stopping] == ["failed", "worse", "worse", "missing"]


def test_junit_has_a_case_for_each_cell_and_counts_them() -> None:
    found = gate(COMPARED, 0.02)
    root = ElementTree.fromstring(junit.xml(found))
    [suite] = root
    assert {name: suite.attrib[name] for name in ("tests", "failures", "skipped")} == {
        "tests": "7",
        "failures": "4",
        "skipped": "1",
    }
    cases = {case.attrib["classname"]: case for case in suite}
    told = cases["geneve, baseline"][0].attrib["message"]
    assert told == "3 of 3 trials failed: a|b <b> & `c` *d* ]]> \\[e](f) \\| _g_ ~h~"
    assert [child.tag for child in cases["wireguard, baseline"]] == ["skipped"]
    assert [child.tag for child in cases["ipip, baseline"]] == ["system-out"]
    strict = ElementTree.fromstring(junit.xml(gate(COMPARED, 0.02, strict=True)))
    assert (strict[0].attrib["failures"], strict[0].attrib["skipped"]) == ("5", "0")


def test_junit_is_xml_whatever_a_reason_holds() -> None:
    found = gate(COMPARED, 0.02)
    nasty = found._replace(cells=[one._replace(why="\x00\x1b\ud800\ufffe ]]> <&\"'") for one in found.cells])
    root = ElementTree.fromstring(junit.xml(nasty).encode())
    assert root[0][0].tag == "testcase"


def test_the_summary_is_a_table_that_nothing_in_it_breaks() -> None:
    found = gate(COMPARED, 0.02)
    text = markdown.markdown(found, COMPARED)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {10}
    assert text.startswith("## Tunbench: not passed\n\n7 cells, tolerance 2\N{NO-BREAK SPACE}%: 1 failed, 2 worse")
    assert r"a\|b &lt;b&gt; &amp; 'c' \*d\* \]\]&gt; \\\[e\](f) \\\| \_g\_ \~h\~" in text
    assert "| `gre` |" in text
    assert "<summary>Undecided: 1 cell</summary>" in text
    assert "- runner: – → changed" in text


def test_a_stack_is_code_in_which_nothing_is_escaped_but_the_border_of_a_cell() -> None:
    a, b = (speeds("a<b>&|`*_", spread(value, 1)) for value in (1e9, 0.5e9))
    side = comparison_of(a, b)
    assert r"| `a<b>&\|'*_` |" in markdown.markdown(gate(side, 0.02), side)


@pytest.mark.parametrize("strict", [False, True])
def test_the_summary_of_a_run_that_passes_says_so(strict: bool) -> None:
    a = speeds("gre", spread(1e9, 1))
    side = comparison_of(a, a)
    assert markdown.markdown(gate(side, 0.02, strict), side).startswith(
        "## Tunbench: passed\n\n1 cell, tolerance 2\N{NO-BREAK SPACE}%: 1 passed"
    )
