"""What netem does to echo requests agrees with its own arithmetic, and with what was asked, in every placement."""

import math
import statistics
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.draws import drawn, mean_moves
from tests.helpers.measuring import execute, plan, values
from tunbench.journal import journal
from tunbench.journal.record import Record
from tunbench.plan.axes.profile import Profile
from tunbench.plan.load import check
from tunbench.runner.declare.netem_arithmetic import echo_loss, loss_deviation, mean_delay, mean_loss, table
from tunbench.runner.declare.netem_terms import number

pytestmark = pytest.mark.vm

ECHOES = 10_000
WIDE = ("medium", "high")
"""Where the mean of so many echoes itself moves by 0.1 ms and more from seed to seed."""

MORE_ECHOES = 45_000
"""Under `medium` an echo's deviation is 5.1 ms: chance moves the mean of so many by 0.1 ms once in 25,000 times."""

REPEATS = 2
"""Trials, with a seed each, among which they are divided: two at once take half of the time."""

BARE_SECONDS = 4 * 75e-6 + 60e-6
"""A round trip without a profile: the delay of two links each way, and what the nodes take."""

APART = 0.05
"""Seconds between echoes: where a reply comes later than 10 ms before the next request, ping waits busily for that."""

MANY = 5_000
FEWER = 3_000


def profiles(text: str) -> list[Profile]:
    return [profile for profile in check(text, "test.toml").values["profile"] if isinstance(profile, Profile)]


@pytest.mark.parametrize("profile", ["low", *WIDE])
def test_delay_loss_and_order_follow_netems_arithmetic(profile: str, tmp_path: Path) -> None:
    follow_netems_arithmetic(profile, ECHOES, profile in WIDE, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_more_echoes_have_the_mean_of_netems_arithmetic_within_a_tenth_of_a_millisecond(tmp_path: Path) -> None:
    follow_netems_arithmetic("medium", MORE_ECHOES, False, tmp_path)


def follow_netems_arithmetic(profile: str, echoes: int, chance: bool, tmp_path: Path) -> None:
    """The mean of round trips within 0.1 ms, and what `chance` moves it by; and the losses within chance."""
    each = echoes // REPEATS
    text = plan(["none"], f'["{profile}"]', [f"ping:count={each},interval={APART}"], REPEATS)
    [terms] = [one.forward for one in profiles(text)]
    shipped = execute(tmp_path / "run", text)
    assert {trial.verdict for trial in shipped.trials} == {"ok"}
    rtts = values(shipped, "rtt", "none", whole=False)

    # Each direction delays by its own mean; correlated reordering nearly never happens, so it takes nothing away.
    expected = 2 * mean_delay(number(terms, "delay"), number(terms, "jitter"))
    mean = statistics.fmean(rtts)
    assert abs(mean - BARE_SECONDS - expected) < 0.1e-3 + (mean_moves(rtts) if chance else 0)

    losses = values(shipped, "loss", "none")
    assert len(losses) == REPEATS
    lost = round(sum(losses) * each)
    low, high = drawn(echoes, echo_loss(number(terms, "loss"), number(terms, "loss")))
    assert low <= lost <= high
    assert [warning for warning in shipped.warnings if warning.name == "netem-limit"] == []


def test_correlated_reordering_nearly_never_happens_and_a_plain_one_does(tmp_path: Path) -> None:
    # 30 ms between packets and 50 ms of delay: one that is sent at once comes before those that wait.
    inline = (
        '[{ name = "plain", delay = "50ms", reorder = "5%" },'
        ' { name = "correlated", delay = "50ms", reorder = "5%", reorder_correlation = "50%" }]'
    )
    record = execute(tmp_path / "run", plan(["none"], inline, [f"ping:count={FEWER},interval=0.03"]))
    early = {
        trial.cell["profile"]: sum(row["value"] < 0.09 for row in trial.rows if row["metric"] == "rtt")
        for trial in record.trials
        if trial.rows and trial.cell["workload"] != "up"
    }
    low, high = drawn(FEWER, 1 - (1 - 0.05) ** 2)
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
    profile = '[{ name = "short", placement = "endpoints", delay = "100ms" }]'
    link = '{ name = "narrow", rate = "100M", queue = 5 }'
    record = execute(tmp_path / "run", plan(["none"], profile, ["iperf3-udp:rate=5M,duration=1"], link=link))
    assert "netem-limit" in {warning.name for warning in record.warnings}


MODELS = (
    '[{ name = "gemodel", gemodel_p = "1%", gemodel_r = "20%", gemodel_1-h = "90%", gemodel_1-k = "0.1%",'
    " reverse = {} },"
    ' { name = "state", state_p13 = "1%", state_p31 = "30%", state_p32 = "20%", state_p23 = "50%", state_p14 = "0.5%",'
    " reverse = {} },"
    ' { name = "random", loss = "4%", reverse = {} }]'
)


def bursts(record: Record, profile: str, interval: float) -> list[int]:
    """The lengths of the runs of echoes that were lost."""
    [trial] = [one for one in record.trials if one.cell["profile"] == profile and one.cell["workload"] != "up"]
    answered = sorted(round(row["at"] / interval) for row in trial.rows if row["metric"] == "rtt")
    return [later - earlier - 1 for earlier, later in pairwise(answered) if later > earlier + 1]


def test_models_of_loss_lose_in_bursts_what_their_arithmetic_says(tmp_path: Path) -> None:
    text = plan(["none"], MODELS, [f"ping:count={MANY},interval={APART}"])
    record = execute(tmp_path / "run", text)
    for profile in profiles(text):
        [lost] = [
            row["value"] * MANY
            for trial in record.trials
            for row in trial.rows
            if row["metric"] == "loss" and trial.cell["profile"] == profile.name
        ]
        # Losses in bursts spread more widely than a binomial distribution.
        width = 4 * loss_deviation(profile.forward, MANY)
        assert abs(lost - MANY * (mean_loss(profile.forward) or 0)) < width
    lengths = {name: statistics.fmean(bursts(record, name, APART)) for name in ("gemodel", "state", "random")}
    # Random losses come alone: 1 / (1 - p). A stay in the bad state lasts 1 / r = 5 packets, and each is lost by 90 %.
    assert lengths["random"] < 1.2
    assert lengths["gemodel"] > 2
    assert lengths["state"] > 1.2
    assert record.warnings == ()


SPREADS = """[
 { name = "normal", delay = "20ms", jitter = "2ms", distribution = "normal", reverse = {} },
 { name = "pareto", delay = "20ms", jitter = "5ms", distribution = "pareto", reverse = {} },
 { name = "paretonormal", delay = "4ms", jitter = "7ms", distribution = "paretonormal", reverse = {} },
]"""


def test_distributions_have_the_mean_and_the_spread_of_their_tables(tmp_path: Path) -> None:
    text = plan(["none"], SPREADS, [f"ping:count={FEWER},interval=0.2"])
    record = execute(tmp_path / "run", text)
    for profile in profiles(text):
        spread = str(profile.forward["distribution"])
        delay, jitter = number(profile.forward, "delay"), number(profile.forward, "jitter")
        delays = [max(0.0, delay + jitter * entry) for entry in table(spread)]
        rtts = [
            row["value"]
            for trial in record.trials
            for row in trial.rows
            if row["metric"] == "rtt" and trial.cell["profile"] == profile.name
        ]
        chance = 4 * statistics.pstdev(delays) / math.sqrt(FEWER)
        assert abs(statistics.fmean(rtts) - BARE_SECONDS - mean_delay(delay, jitter, spread)) < 0.1e-3 + chance
        assert statistics.stdev(rtts) == pytest.approx(statistics.pstdev(delays), rel=0.15)


def test_every_lost_echo_is_in_netems_own_counter(tmp_path: Path) -> None:
    # Nothing but echoes passes the overlay of a tunnel without neighbours: no ARP, no router's advertisement.
    profile = '[{ name = "x", placement = "overlay", loss = "5%", reverse = { gemodel_p = "2%", gemodel_r = "40%" } }]'
    record = execute(tmp_path / "run", plan(["wireguard"], profile, ["ping:count=1000"]))
    queues = [event for event in journal.events(tmp_path / "run") if event["event"] == "queue"]
    there, back = (event["counters"]["netem"] for event in queues)
    [loss] = values(record, "loss", "wireguard")
    assert there["drops"] + back["drops"] == round(loss * 1000) > 0
    assert there["drops"] + there["packets"] == 1000
    assert back["drops"] + back["packets"] == there["packets"]


def test_duplicates_and_corrupted_packets_are_as_many_as_asked_for(tmp_path: Path) -> None:
    profiles = (
        '[{ name = "twice", duplicate = "10%", reverse = {} }, { name = "spoilt", corrupt = "10%", reverse = {} }]'
    )
    record = execute(tmp_path / "run", plan(["none"], profiles, [f"ping:count={FEWER},interval={APART}"]))
    found = {
        (trial.cell["profile"], row["metric"]): row["value"]
        for trial in record.trials
        for row in trial.rows
        if row["metric"] in ("loss", "duplicates")
    }
    low, high = drawn(FEWER, 0.1)
    assert low <= found["twice", "duplicates"] <= high
    assert found["twice", "loss"] == 0
    # One of 98 bytes is changed; the 6 of the sender's hardware address do not matter, all others cost the echo.
    low, high = drawn(FEWER, 0.1 * 92 / 98)
    assert low <= found["spoilt", "loss"] * FEWER <= high
