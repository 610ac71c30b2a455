import polars as pl
import pytest

from tests.helpers.records import PING, TCP, UP, cell, realistic, record, row, trial
from tunbench.analysis.cells import cells, per_trial
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.samples import SCHEMA, every_sample, good_samples
from tunbench.analysis.statistics import INTERVAL, RANGE
from tunbench.journal.record import COLUMNS, Record, Warned
from tunbench.runner.declare import axes


def pings(repeats: int) -> Record:
    """Trial k has the round-trip times k, k + 1, … k + 100 ms."""
    return record(
        [
            trial(
                cell("none", repeat=repeat),
                [("rtt", "s", (repeat + number) / 1000, number / 100) for number in range(101)]
                + [("loss", "ratio", 0.25)],
            )
            for repeat in range(1, repeats + 1)
        ]
    )


def one(table: pl.DataFrame, **where: str) -> dict[str, object]:
    found = table.filter([pl.col(name) == value for name, value in where.items()])
    assert len(found) == 1
    return found.row(0, named=True)


def test_the_frame_has_the_columns_of_a_sample_in_canonical_order() -> None:
    whole = realistic(2)
    table = every_sample(whole)
    assert dict(table.schema) == SCHEMA
    assert table.columns == list(COLUMNS)
    assert table.equals(table.sort(COLUMNS))
    assert len(table) == sum(len(trial.rows) for trial in whole.trials)


def test_the_frame_does_not_depend_on_the_order_of_trials() -> None:
    whole = realistic(2)
    backwards = Record(whole.manifest, whole.trials[::-1], whole.warnings, {}, (), 0)
    assert every_sample(backwards).equals(every_sample(whole))


def test_an_empty_run_has_an_empty_frame() -> None:
    assert every_sample(record([])).is_empty()
    assert analyse(record([])).cells.is_empty()


def test_samples_of_trials_that_failed_do_not_count() -> None:
    whole = record([trial(cell("none"), [("loss", "ratio", 0.5)], verdict="failed", reason="no proof")])
    assert len(every_sample(whole)) == 1
    assert good_samples(whole.trials).is_empty()


def test_a_trial_gives_the_median_and_percentiles_of_its_own_replies() -> None:
    values = per_trial(every_sample(pings(1)))
    assert {found[0]: found[1] for found in values.filter(metric="rtt").select("statistic", "value").rows()} == {
        "median": pytest.approx(0.051),
        "p95": pytest.approx(0.096),
        "p99": pytest.approx(0.100),
    }


def test_a_value_of_the_whole_trial_comes_before_the_series() -> None:
    samples = [("throughput", "bit/s", 1e6, 0.0), ("throughput", "bit/s", 9e6, 1.0), ("throughput", "bit/s", 4e6)]
    values = per_trial(every_sample(record([trial(cell("none", workload=TCP), samples)])))
    assert values.select("statistic", "value").rows() == [("value", 4e6)]


def test_a_cell_is_the_median_over_repeats() -> None:
    found = cells(per_trial(every_sample(pings(7))))
    rtt = one(found, metric="rtt", statistic="p95")
    assert (rtt["n"], rtt["median"], rtt["kind"]) == (7, pytest.approx(0.099), INTERVAL)
    assert (rtt["low"], rtt["high"]) == (pytest.approx(0.096), pytest.approx(0.102))
    assert one(found, metric="loss")["median"] == 0.25


def test_few_repeats_show_their_range() -> None:
    assert set(cells(per_trial(every_sample(pings(5))))["kind"]) == {RANGE}


def test_few_repeats_are_warned_of_once_for_all_cells() -> None:
    (warning,) = analyse(pings(3)).warnings
    assert warning.name == "too-few-trials"
    assert warning.found == (
        Warned("too-few-trials", "1 of 1 cells", "3 trials each, and 6 are needed; the range is shown"),
    )
    assert not analyse(pings(6)).warnings


def test_warnings_of_the_run_are_passed_on_once_each() -> None:
    same = Warned("netem-limit", "none, medium, repeat 1", "3 packets")
    strange = Warned("from-the-future", "none", "beware")
    found = analyse(record(pings(6).trials, warnings=(strange, same, same))).warnings
    assert [(warning.name, len(warning.found)) for warning in found] == [("netem-limit", 1), ("from-the-future", 1)]
    assert all(warning.mend for warning in found)


def test_stacks_stand_behind_the_none_of_their_underlay() -> None:
    found = analyse(realistic(1))
    assert found.stacks[0] == "none"
    assert found.stacks[-2:] == ["none:underlay=ethernet", "macvlan"]
    assert list(found.conditions.values()) == ["baseline", "medium"]


def test_profiles_that_the_manifest_does_not_list_stand_as_shipped() -> None:
    trials = [trial(cell("none", profile)) for profile in ("wan", "high", "low", "baseline")]
    assert list(analyse(record(trials, manifest={})).conditions.values()) == ["baseline", "low", "high", "wan"]


def test_what_varies_besides_the_profile_is_in_the_name_of_a_condition() -> None:
    trials = [trial({**cell("none"), "machine": machine}) for machine in ("full", "quarter")]
    assert list(analyse(record(trials)).conditions.values()) == ["baseline · full", "baseline · quarter"]


def test_no_two_conditions_have_one_name() -> None:
    named = [("a · b", "c"), ("a", "b · c")]
    trials = [trial({**cell("none", profile), "tuning": tuning}) for profile, tuning in named]
    names = list(analyse(record(trials, manifest={})).conditions.values())
    assert sorted(names) == ["profile='a · b' · tuning='c'", "profile='a' · tuning='b · c'"]


def test_conditions_are_in_the_order_in_which_the_plan_sweeps() -> None:
    places = [
        {"profile": f"wan:delay={delay}ms", "tuning": f"x:mtu={mtu}", "machine": machine}
        for delay in (9, 10)
        for mtu in (900, 1500)
        for machine in ("full", "slow", "eighth")
    ]
    listed = {
        "profiles": [{"name": "wan:delay=9ms"}, {"name": "wan:delay=10ms"}],
        "tunings": [{"name": "x:mtu=900"}, {"name": "x:mtu=1500"}],
        "machines": [{"name": "full"}, {"name": "slow"}, {"name": "eighth"}],
    }
    trials = [trial(cell("none") | where) for where in places]
    found = analyse(record(trials, manifest={"plan": listed})).conditions
    assert list(found) == [tuple((axes.USUAL | one)[axis] for axis in axes.CONDITION) for one in places]


def test_rows_of_different_nodes_are_different_cells() -> None:
    rows = [{**row(cell("none"), "cost", "s/B", value), "node": node} for node, value in (("a", 1.0), ("b", 2.0))]
    whole = record([trial(cell("none"))])
    both = pl.DataFrame(rows, schema=SCHEMA)
    assert cells(per_trial(both)).select("node", "n", "median").rows() == [("a", 1, 1.0), ("b", 1, 2.0)]
    assert every_sample(whole).is_empty()


def test_the_time_to_come_up_is_a_metric_like_any_other() -> None:
    found = analyse(realistic(1)).cells
    assert one(found, workload=UP, metric="connect", stack="none", condition="medium")["unit"] == "s"
    assert PING in set(found["workload"])
