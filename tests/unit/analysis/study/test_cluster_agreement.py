"""What stands behind the distributions of which clusters are made."""

from pathlib import Path

from tests.helpers import studies
from tests.helpers.records import cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.study.cluster_agreement import ClusterAgreement
from tunbench.journal.record import TrialResult
from tunbench.report import study_wording

TEXT = studies.PLAN + studies.STUDY + studies.CLAIMS


def found(folder: Path, trials: list[TrialResult], text: str = TEXT) -> ClusterAgreement:
    return studies.assessed(analyse(record(trials)), studies.loaded(folder, text=text)).clusters[0]


def both_ways(stack: str, delays: tuple[float, float]) -> TrialResult:
    """Round-trip times that were measured at both ends, of which one is slower."""
    echoes = [
        ("rtt", "s", delay * (1 + number / 100), number / 10, node)
        for node, delay in zip("ab", delays, strict=True)
        for number in range(10)
    ]
    return trial(cell(stack, "baseline", studies.PING, 1), echoes)


def two_ends() -> list[TrialResult]:
    quick = [both_ways(stack, (1e-5, 3e-5)) for stack in ("none", "ipip", "gre")]
    return [*quick, both_ways("wireguard", (5e-4, 9e-4))]


def test_series_of_several_nodes_are_said_to_be_put_together(tmp_path: Path) -> None:
    one = found(tmp_path, two_ends())
    said = "values of up to 2 pairs and nodes are put together (No VPN, IPIP, GRE, WireGuard)"
    assert one.notes == (said,)
    assert said in study_wording.clusters(one) or one.rand is None
    assert sum(len(cluster.members) for cluster in one.measured) == 4


def test_a_cell_that_names_its_node_has_the_values_of_that_one(tmp_path: Path) -> None:
    named = TEXT.replace(
        'cell = { metric = "rtt", profile = "baseline" }', 'cell = { metric = "rtt", profile = "baseline", node = "a" }'
    )
    assert named != TEXT
    one = found(tmp_path, two_ends(), named)
    assert one.notes == ()
    assert one.measured[0].mean < 1.2e-5


def test_trials_that_failed_are_counted(tmp_path: Path) -> None:
    broken = trial(cell("gre", "baseline", studies.PING, 7), verdict="failed", reason="it broke")
    one = found(tmp_path, [*studies.trials(6, ("baseline",)), broken])
    assert one.notes == ("GRE: 6 ok of 7 trials",)
    assert found(tmp_path, studies.trials(6, ("baseline",))).notes == ()
