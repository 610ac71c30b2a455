from math import sqrt
from pathlib import Path

import pytest

from tests.helpers import studies
from tests.helpers.records import record
from tunbench.analysis.run_analysis import RunAnalysis, analyse
from tunbench.analysis.study.cell_lookup import NOT_RUN
from tunbench.analysis.study.rank_correlation import RankCorrelation
from tunbench.analysis.study.table_agreement import ILLEGIBLE, NO_CELL, TableAgreement, compare_tables
from tunbench.journal.readers.published import read


def tables(folder: Path, analysis: RunAnalysis, scale: str = "full") -> list[TableAgreement]:
    loaded = studies.loaded(folder, scale)
    assert loaded.study
    return compare_tables(loaded.study, read(loaded), studies.run(folder, analysis, scale))


def test_the_same_order_agrees_as_far_as_published_values_differ(tmp_path: Path) -> None:
    throughput, delay = tables(tmp_path, studies.found())
    lan = throughput.conditions["LAN"]
    assert (lan.n, throughput.whole.n, delay.whole.n) == (4, 5, 3)
    # Of six pairs of systems on the LAN, three are within 3 % of each other: 92.9, 91.7 and 91.2 Mbit/s.
    assert (lan.tied, throughput.whole.tied, delay.whole.tied) == (3, 3, 0)
    assert lan.tau == lan.most == pytest.approx(sqrt(3 / 6))
    # The published delay of WireGuard is the largest, and so is the measured one.
    assert delay.whole.tau == pytest.approx(1) and delay.whole.rho == pytest.approx(1)


def exchanged(folder: Path, **speeds: float) -> RankCorrelation:
    """The agreement on the LAN where some systems have other speeds."""
    trials = studies.trials(6, ("baseline", "medium"), {**studies.SPEEDS, **speeds})
    return tables(folder, analyse(record(trials)))[0].conditions["LAN"]


def test_an_exchange_counts_unless_published_values_tie(tmp_path: Path) -> None:
    assert exchanged(tmp_path, ipip=60e6).tau == pytest.approx(3 / sqrt(3 * 6))
    # WireGuard stands before GRE: one of the three pairs that are an order stands the other way round.
    assert exchanged(tmp_path, wireguard=75e6).tau == pytest.approx((2 - 1) / sqrt(3 * 6))


def test_rows_stand_side_by_side(tmp_path: Path) -> None:
    rows = {(row.published.system, row.published.condition): row for row in tables(tmp_path, studies.found())[0].rows}
    gre = rows["GRE", "LAN"]
    assert (gre.stack, gre.published.value, gre.published_rank, gre.measured_rank) == ("gre", 91.2e6, 2, 3)
    assert (gre.ties, gre.error) == (2, pytest.approx(gre.measured.median / 91.2e6 - 1) if gre.measured else None)
    assert gre.measured and gre.measured.n == 6 and gre.ratio == pytest.approx(gre.measured.median / 91.2e6)
    assert rows["PPTP", "LAN"].why == "it needs a module that the image lacks"
    assert rows["IPIP", "WAN"].why == ILLEGIBLE and rows["IPIP", "WAN"].measured
    assert rows["GRE", "DSL"].why == NO_CELL
    assert rows["IPIP", "WAN"].measured_rank is None


def test_less_is_better_in_a_table_of_delays(tmp_path: Path) -> None:
    ranks = {row.published.system: row.published_rank for row in tables(tmp_path, studies.found())[1].rows}
    assert ranks == {"No VPN": 1, "IPIP": 2, "WireGuard": 3}


def test_a_condition_of_another_scale_is_not_run(tmp_path: Path) -> None:
    throughput = tables(tmp_path, studies.found(3, ("baseline",)), "quick")[0]
    assert [row.why for row in throughput.rows if row.published.condition == "WAN"] == [NOT_RUN, NOT_RUN]
    assert throughput.conditions["WAN"].n == 0 and throughput.whole.n == 4


def test_a_run_that_measured_nothing_has_no_numbers(tmp_path: Path) -> None:
    throughput = tables(tmp_path, analyse(record([])))[0]
    assert (throughput.whole.n, throughput.whole.tau) == (0, None)


def test_clusters_are_compared_by_their_members(tmp_path: Path) -> None:
    lan, wan = studies.assessed(studies.found(), studies.loaded(tmp_path)).clusters
    assert (lan.name, wan.name) == ("on the LAN", "on the WAN")
    assert lan.rand == pytest.approx(1) and lan.n == 4
    for one in (lan, wan):
        assert [group.members for group in one.measured] == [("GRE", "IPIP", "No VPN"), ("WireGuard",)]
    # Of the six pairs, one is together on both sides, where chance lets one expect 2 · 3 ÷ 6 = 1.
    assert wan.rand == pytest.approx(0)


def test_each_clustering_is_of_its_own_cell(tmp_path: Path) -> None:
    only_lan = analyse(record(studies.trials(6, ("baseline",))))
    lan, wan = studies.assessed(only_lan, studies.loaded(tmp_path)).clusters
    assert lan.measured and (wan.measured, wan.n, wan.rand) == ((), 0, None)
    assert wan.why == "0 systems have round-trip times: clusters need at least 3"


def test_a_scale_that_measured_two_systems_has_no_clusters(tmp_path: Path) -> None:
    few = [one for one in studies.trials(6, ("baseline",)) if one.cell["stack"] in ("none", "gre")]
    for found in studies.assessed(analyse(record(few)), studies.loaded(tmp_path)).clusters:
        assert found.rand is None and found.why
