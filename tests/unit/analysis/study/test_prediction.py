"""What one number predicts of the others: every figure here is worked out by hand from those of the tiny study."""

from pathlib import Path

import pytest

from tests.helpers import calibrated, studies
from tests.helpers.records import cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.study.assessment import Assessment
from tunbench.analysis.study.prediction import Errors, Prediction
from tunbench.report import study_wording

# The median of a trial's values is 7 % above these: six seeds move them by 2, 4, … 12 %.
MOVED = 1.07
EXACT = {"none": 92.9e6, "ipip": 91.7e6, "gre": 91.2e6, "wireguard": 40.5e6}
"""What was published on the LAN."""


def assessed(
    folder: Path, text: str = calibrated.TEXT, reference: str = studies.REFERENCE, **speeds: float
) -> Assessment:
    """What a run says that measures what was published on the LAN, but for some."""
    values = {stack: value / MOVED for stack, value in {**EXACT, **speeds}.items()}
    analysis = analyse(record(studies.trials(6, ("baseline", "medium"), values)))
    return studies.assessed(analysis, calibrated.loaded(folder, text=text, reference=reference))


def prediction(of: Assessment) -> Prediction:
    assert of.prediction
    return of.prediction


def of_lan(folder: Path, none: float = 92.9e6, ipip: float = 91.7e6, gre: float = 91.2e6) -> Errors:
    return prediction(assessed(folder, none=none, ipip=ipip, gre=gre)).tables[0].conditions["LAN"]


def test_the_error_of_a_table_is_the_median_of_sizes_and_the_worst_is_named(tmp_path: Path) -> None:
    found = of_lan(tmp_path, none=92.9e6 * 1.1, ipip=91.7e6 * 0.7, gre=91.2e6 * 0.95)
    assert found.n == 3 and found.median == pytest.approx(0.1)
    assert found.worst and found.worst.published.system == "IPIP" and found.worst.error == pytest.approx(-0.3)


def test_the_cell_that_calibrates_is_in_no_error(tmp_path: Path) -> None:
    # WireGuard is 50 % off, and no error of the table tells of it.
    found = prediction(assessed(tmp_path, wireguard=40.5e6 * 1.5))
    assert found.tables[0].conditions["LAN"].n == 3
    assert found.tables[0].conditions["LAN"].median == pytest.approx(0, abs=1e-9)
    assert [row.published.system for row in found.tables[0].calibrating] == ["WireGuard"]
    assert found.cell.error == pytest.approx(0.5)


def test_a_table_that_prints_the_calibrating_cell_again_does_not_predict_it(tmp_path: Path) -> None:
    again = '\n[[study.table]]\ntable = "again"\nmetric = "throughput"\ncell = { metric = "throughput" }\n'
    text = calibrated.TEXT + again + 'conditions = { "LAN" = { profile = "baseline" } }\n'
    rows = "".join(f"again,{name},LAN,throughput,mean,Mbit/s,50,Table 3\n" for name in ("WireGuard", "GRE"))
    found = prediction(assessed(tmp_path, text, studies.REFERENCE + rows)).tables[2]
    assert [row.published.system for row in found.cells] == ["GRE"]
    assert [row.published.system for row in found.calibrating] == ["WireGuard"]


def test_two_models_that_know_no_system_stand_beside_it_over_the_same_cells(tmp_path: Path) -> None:
    found = of_lan(tmp_path)
    # No VPN 92.9, IPIP 91.7 and GRE 91.2 against a link of 94.1 and a calibrating number of 40.5 Mbit/s.
    assert found.at_link == pytest.approx(94.1 / 91.7 - 1)
    assert found.at_number == pytest.approx(1 - 40.5 / 91.7)
    whole = prediction(assessed(tmp_path)).tables[0].whole
    # With No VPN on the WAN: 12.1 against 12.5, which is the second largest error, and against 40.5, the largest.
    assert whole.n == 4 and whole.at_link == pytest.approx((94.1 / 91.7 + 94.1 / 91.2) / 2 - 1)
    assert whole.at_number == pytest.approx((2 - 40.5 / 91.7 - 40.5 / 92.9) / 2)


def test_a_table_without_a_rate_or_of_something_else_lacks_a_model(tmp_path: Path) -> None:
    delay = prediction(assessed(tmp_path)).tables[1]
    assert (delay.whole.n, delay.whole.at_link, delay.whole.at_number, delay.number) == (3, None, None, None)
    text = studies.PLAN + studies.STUDY + calibrated.CALIBRATION
    assert prediction(assessed(tmp_path, text)).tables[0].whole.at_link is None


def test_the_error_is_measured_by_published_where_less_is_better_too(tmp_path: Path) -> None:
    delay = prediction(assessed(tmp_path)).tables[1]
    # Medians of the ten round trips of a trial: 10.45 µs of none, 11.495 of ipip, 679.25 of wireguard; 0.3 ms, 0.4 and
    # 0.6 were published.
    errors = [row.error for row in delay.cells]
    assert errors == pytest.approx([10.45 / 300 - 1, 11.495 / 400 - 1, 679.25 / 600 - 1])
    assert delay.whole.median == pytest.approx(1 - 10.45 / 300)


def test_zeros_and_what_is_illegible_are_left_out_and_counted(tmp_path: Path) -> None:
    reference = studies.REFERENCE.replace("mean,Mbit/s,91.2", "mean,Mbit/s,0")
    found = prediction(assessed(tmp_path, reference=reference)).tables[0]
    assert (found.conditions["LAN"].n, found.conditions["LAN"].zeros) == (2, 1)
    assert (found.conditions["WAN"].n, found.conditions["WAN"].illegible) == (1, 1)
    assert (found.whole.n, found.whole.zeros, found.whole.illegible) == (3, 1, 1)


def test_what_is_measured_is_scaled_and_what_calibrates_with_it(tmp_path: Path) -> None:
    text = calibrated.TEXT.replace('table = "throughput"\nmetric', 'table = "throughput"\nscaled_by = 4\nmetric', 1)
    found = assessed(tmp_path, text)
    assert prediction(found).tables[0].conditions["LAN"].median == pytest.approx(3)
    assert prediction(found).tables[0].number == 40.5e6
    row = found.tables[0].rows[0]
    assert row.measured and row.measured.median == pytest.approx(4 * 92.9e6)
    assert row.measured.low < row.measured.median < row.measured.high
    again = '\n[[study.table]]\ntable = "six"\nmetric = "throughput"\nscaled_by = 6\ncell = { metric = "throughput" }\n'
    text = calibrated.TEXT + again + 'conditions = { "LAN" = { profile = "baseline" } }\n'
    rows = "six,GRE,LAN,throughput,sum,Mbit/s,300,Table 3\n"
    assert prediction(assessed(tmp_path, text, studies.REFERENCE + rows)).tables[2].number == pytest.approx(6 * 40.5e6)


def test_what_is_added_up_over_pairs_is_beside_as_many_of_the_number_that_calibrates(tmp_path: Path) -> None:
    again = '\n[[study.table]]\ntable = "both"\nmetric = "throughput"\ncell = { statistic = "sum" }\n'
    text = calibrated.TEXT + again + 'conditions = { "LAN" = { profile = "baseline" } }\n'
    pairs = [("throughput", "bit/s", value, None, "b", pair) for pair, value in (("a-b", 60e6), ("b-c", 20e6))]
    run = analyse(record([trial(cell("gre", "baseline", studies.TCP, repeat), pairs) for repeat in (1, 2)]))
    reference = studies.REFERENCE + "both,GRE,LAN,throughput,sum,Mbit/s,100,Table 3\n"
    assessment = studies.assessed(run, calibrated.loaded(tmp_path, text=text, reference=reference))
    found = prediction(assessment).tables[2]
    assert found.number == 2 * 40.5e6
    assert found.whole.median == pytest.approx(0.2)
    table, row = assessment.tables[2], assessment.tables[2].rows[0]
    assert study_wording.remarks_on_number(row, table, found) == "sum of 2 pairs and nodes"
    # Nothing measured, nobody knows how many it adds up.
    reference = reference.replace("both,GRE", "both,IPIP")
    assessment = studies.assessed(run, calibrated.loaded(tmp_path, text=text, reference=reference))
    assert prediction(assessment).tables[2].number is None


def test_nothing_is_predicted_of_a_table_that_has_an_order_alone(tmp_path: Path) -> None:
    text = calibrated.TEXT.replace('metric = "rtt"\nstat', 'metric = "rtt"\norder_only = "another router"\nstat')
    found = prediction(assessed(tmp_path, text)).tables[1]
    assert (found.why, found.cells, found.whole.n) == ("another router", (), 0)
    assert assessed(tmp_path, text).tables[1].whole.tau == pytest.approx(1)


@pytest.mark.parametrize(
    ("machine", "off", "is_calibrated"),
    [("full", 1.0, True), ("full", 1.029, True), ("full", 0.969, False), ("wr841n", 1.0, False)],
)
def test_the_machine_is_the_calibrated_one_where_its_name_and_its_number_are(
    machine: str, off: float, is_calibrated: bool, tmp_path: Path
) -> None:
    text = calibrated.TEXT.replace('machine = "full"', f'machine = "{machine}"')
    found = prediction(assessed(tmp_path, text, wireguard=40.5e6 * off))
    assert found.calibrated is is_calibrated
    assert found.machine and (found.machine.name, found.machine.speed) == ("full", 1000)


def test_a_run_without_the_calibrating_cell_says_so(tmp_path: Path) -> None:
    text = calibrated.TEXT.replace('system = "WireGuard"\ncondition = "LAN"', 'system = "No VPN"\ncondition = "WAN"')
    found = prediction(calibrated.assessed(tmp_path, "quick", text))
    assert (found.calibrated, found.machine, found.cell.measured) == (None, None, None)
    assert found.cell.why == "not run"
    # The number is known all the same.
    assert found.tables[0].whole.at_number == pytest.approx(1 - 12.1 / 91.45, rel=0.01)


def test_the_real_clock_has_no_model_machine(tmp_path: Path) -> None:
    text = calibrated.TEXT.replace("\n[scale.quick]", '\n[lab]\nkind = "native"\n\n[scale.quick]', 1)
    found = prediction(assessed(tmp_path, text))
    assert (found.machine, found.calibrated) == (None, False)


def test_without_a_calibration_there_is_no_prediction(tmp_path: Path) -> None:
    assert studies.assessed(studies.found(), studies.loaded(tmp_path)).prediction is None
