"""What netem does to echo requests agrees with its own arithmetic, and with what was asked, in every placement."""

import math
import statistics
from pathlib import Path

import pytest
from scipy import stats

from tests.vm.measuring import execute, plan, values, verdicts
from tunbench.journal import journal
from tunbench.plan.load import check
from tunbench.runner.impairment import echo_loss, mean_delay

pytestmark = pytest.mark.vm

ECHOES = 10_000
FEWER = 3_000


@pytest.mark.parametrize("profile", ["low", "medium", "high"])
def test_delay_loss_and_order_follow_netems_arithmetic(profile: str, tmp_path: Path) -> None:
    text = plan(["none"], f'["{profile}"]', [f"ping:count={ECHOES},interval=0.02"])
    [terms] = [one.forward for one in check(text, "test.toml").profiles]
    record = execute(tmp_path / "run", text)
    assert {verdict for verdict, _ in verdicts(record).values()} == {"ok"}
    rtts = values(record, "rtt", "none", whole=False)

    # Each direction delays by its own mean; correlated reordering nearly never happens, so it takes nothing away.
    expected = 2 * mean_delay(terms["delay"], terms["jitter"])
    bare = 60e-6
    mean, deviation = statistics.fmean(rtts), statistics.stdev(rtts)
    # Under `high` the mean of 10,000 echoes itself still moves by more than 0.1 ms from seed to seed.
    chance = stats.norm.ppf(0.995) * deviation / math.sqrt(len(rtts))
    assert abs(mean - bare - expected) < 0.1e-3 + (chance if profile == "high" else 0)

    lost = round(values(record, "loss", "none")[0] * ECHOES)
    low, high = stats.binom.interval(0.99, ECHOES, echo_loss(terms["loss"], terms["loss"]))
    assert low <= lost <= high
    assert [warning for warning in record.warnings if warning.name == "netem-limit"] == []


def test_correlated_reordering_nearly_never_happens_and_a_plain_one_does(tmp_path: Path) -> None:
    # 10 ms between packets and 50 ms of delay: one that is sent at once comes before those that wait.
    inline = (
        '[{ name = "plain", delay = "50ms", reorder = "5%" },'
        ' { name = "correlated", delay = "50ms", reorder = "5%", reorder_correlation = "50%" }]'
    )
    record = execute(tmp_path / "run", plan(["none"], inline, [f"ping:count={FEWER},interval=0.01"]))
    early = {
        trial.cell["profile"]: sum(row["value"] < 0.09 for row in trial.rows if row["metric"] == "rtt")
        for trial in record.trials
        if trial.rows and trial.cell["workload"] != "up"
    }
    low, high = stats.binom.interval(0.999, FEWER, 1 - (1 - 0.05) ** 2)
    assert low <= early["plain"] <= high
    assert early["correlated"] < low / 10


@pytest.mark.parametrize(
    ("placement", "where"),
    [
        ("router", {("router", "to-a"), ("router", "to-b")}),
        ("endpoints", {("a", "eth0"), ("b", "eth0")}),
        ("overlay", {("a", "wireguard-0"), ("b", "wireguard-0")}),
    ],
)
def test_each_placement_delays_each_direction(placement: str, where: set[tuple[str, str]], tmp_path: Path) -> None:
    profile = f'[{{ name = "x", placement = "{placement}", delay = "30ms", reverse = {{ delay = "50ms" }} }}]'
    record = execute(tmp_path / "run", plan(["wireguard"], profile, ["ping:count=10"]))
    events = [event for event in journal.events(tmp_path / "run") if event["event"] == "impairment"]
    assert {(event["node"], event["interface"]) for event in events} == where
    assert all(math.isclose(rtt, 0.08, abs_tol=0.001) for rtt in values(record, "rtt", "wireguard", whole=False))


def test_a_queue_that_is_too_short_warns(tmp_path: Path) -> None:
    profile = '[{ name = "short", delay = "100ms", limit = "5" }]'
    record = execute(tmp_path / "run", plan(["none"], profile, ["iperf3-udp:rate=5M,duration=1"]))
    assert "netem-limit" in {warning.name for warning in record.warnings}
