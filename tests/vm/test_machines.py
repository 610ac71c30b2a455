"""What the model machine lacks shows where it is used, and a slower one carries proportionally less."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, verdicts
from tunbench.analysis.statistics import Estimate, estimate
from tunbench.journal.record import Record

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(3000)]

REPEATS = 10
GCM, CHACHA, WIREGUARD = "ipsec:cipher=aes128gcm16", "ipsec:cipher=chacha20poly1305", "wireguard"

PLAN = f"""
name = "machines"
repeats = {REPEATS}
stacks = ["{GCM}", "{CHACHA}", "{WIREGUARD}"]
workloads = ["iperf3-tcp:duration=1"]
machine = ["full", "no-aes", "slow"]
exclude = [{{ machine = "slow", stack = "ipsec*" }}, {{ machine = "no-aes", stack = "wireguard" }}]
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return execute(tmp_path_factory.mktemp("machines") / "run", PLAN)


def ratios(record: Record, stack: str, machine: str) -> Estimate:
    """The throughput on a machine as a part of that on the full one, of each seed: median and interval."""
    found = {
        (row["machine"], row["seed"]): row["value"]
        for trial in record.trials
        for row in trial.rows
        if row["stack"] == stack and row["metric"] == "throughput" and row["at"] is None
    }
    seeds = sorted({seed for _, seed in found})
    assert len(seeds) == REPEATS
    return estimate([found[machine, seed] / found["full", seed] for seed in seeds])


def test_everything_ran_on_its_machine(record: Record) -> None:
    assert {trial.verdict for trial in record.trials} == {"ok"}
    assert set(record.manifest["command"]) == {"full", "no-aes", "slow"}


def test_without_aes_instructions_aes_gcm_falls_to_under_a_third(record: Record) -> None:
    assert ratios(record, GCM, "no-aes").high < 1 / 3


def test_without_aes_instructions_chacha20_stays(record: Record) -> None:
    found = ratios(record, CHACHA, "no-aes")
    assert found.low > 0.95 and found.high < 1.05


def test_at_a_quarter_of_the_speed_a_busy_tunnel_carries_a_quarter(record: Record) -> None:
    found = ratios(record, WIREGUARD, "slow")
    assert found.low > 0.2 and found.high < 0.3


@pytest.mark.parametrize(("machine", "verdict"), [("full", "ok"), ("no-bbr", "unsupported")])
def test_a_kernel_without_bbr_has_none_for_whoever_asks(machine: str, verdict: str, tmp_path: Path) -> None:
    bbr, workload = '{ name = "no-bbr", kernel.without = ["tcp_bbr"] }', "iperf3-tcp:duration=1,congestion=bbr"
    chosen = bbr if machine == "no-bbr" else f'"{machine}"'
    text = f'name = "bbr"\nrepeats = 1\nstacks = ["none"]\nworkloads = ["{workload}"]\nmachine = {chosen}\n'
    assert verdicts(execute(tmp_path / "run", text))["none", workload][0] == verdict
