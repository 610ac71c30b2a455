"""ping: whose request is answered where numbers wrap around, and who refused what must not be fragmented."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.outputs import edited, of, sound
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import ping

REFUSALS = ("ping-df-local.txt", "ping-df-frag-needed.txt", "ping-df-packet-too-big.txt")


@pytest.mark.parametrize("name", REFUSALS)
def test_what_does_not_fit_is_lost_and_refused(name: str) -> None:
    samples = ping.parse(captured(name), 0.01, df=True)
    assert [(one.metric, one.value) for one in samples] == [("loss", 1), ("duplicates", 0), ("refused", 3)]


def test_what_fits_is_not_refused() -> None:
    samples = ping.parse(captured("ping-df-fits.txt"), 0.01, df=True)
    assert [one.value for one in samples if one.metric in ("loss", "refused")] == [0, 0]
    assert sum(one.metric == "rtt" for one in samples) == 3


def test_what_vanishes_is_lost_and_not_refused() -> None:
    samples = ping.parse(captured("ping-all-lost.txt"), 0.01, df=True)
    assert [(one.metric, one.value) for one in samples] == [("loss", 1), ("duplicates", 0), ("refused", 0)]


def test_without_the_option_nothing_is_counted_as_refused() -> None:
    samples = ping.parse(captured("ping-df-local.txt"), 0.01)
    assert [(one.metric, one.value) for one in samples] == [("loss", 1), ("duplicates", 0)]


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    move_home(monkeypatch, tmp_path)
    # ping ends with status 1, and the errors stand in its other output.
    shell, events = FakeShell({"ping": Result(1, "", captured("ping-df-local.txt"))}), FakeEvents()
    client, server = two_nodes(shell, events)
    options = resolve(ping.ABOUT.options, {"count": "3", "size": "1473", "df": "on"}, "ping")
    trial = Trial(options, client, server, PAIR_UNDERLAYS["ip6"].endpoints)
    ping.execute(trial)
    assert events.commands == ["ip netns exec a ping -n -c 3 -i 0.01 -s 1473 -M do -W 5 fd00:0:0:2::2"]
    assert trial.samples[-1].value == 3


@pytest.mark.parametrize(("dscp", "words"), [("46", ["-Q", "184"]), ("1", ["-Q", "4"]), ("0", [])])
def test_the_dscp_stands_in_the_upper_six_bits_of_its_octet(
    dscp: str, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    move_home(monkeypatch, tmp_path)
    shell = FakeShell({"ping": captured("ping-clean.txt")})
    client, server = two_nodes(shell, FakeEvents())
    options = resolve(ping.ABOUT.options, {"count": "5", "dscp": dscp}, "ping")
    ping.execute(Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints))
    [argv] = [call.argv for call in shell.calls if call.argv[0] == "ping"]
    assert [word for at, word in enumerate(argv) if word == "-Q" or argv[at - 1] == "-Q"] == words


def pinged(seqs: list[int], sent: int) -> str:
    """What ping prints of replies with these numbers to so many requests."""
    lines = [f"64 bytes from 10.0.1.3: icmp_seq={seq} ttl=64 time=1.00 ms" for seq in seqs]
    lost = f"{100 * (sent - len(seqs)) / sent:.6g}% packet loss, time 9ms"
    summary = f"{sent} packets transmitted, {len(seqs)} received, {lost}"
    return "\n".join([*lines, summary, "rtt min/avg/max/mdev = 1.000/1.000/1.000/0.000 ms"])


def placed(numbers: list[int], sent: int) -> list[int]:
    """The requests to which the replies to these are said to belong. ping prints icmp_seq=0 behind icmp_seq=65535."""
    samples = ping.parse(pinged([number % 65536 for number in numbers], sent), 1.0)
    return [round(one.at) + 1 for one in samples if one.at is not None]


@pytest.mark.parametrize(
    ("sent", "first", "again"),
    [(65_540, 30_000, 30_001), (60_000, 1000, 41_000), (100_000, 1000, 41_000), (200_000, 70_000, 127_000)],
)
def test_numbers_of_echoes_wrap_around_and_go_on_behind_an_outage(sent: int, first: int, again: int) -> None:
    numbers = [*range(1, first + 1), *range(again, sent + 1)]
    assert placed(numbers, sent) == numbers


def test_replies_that_are_late_where_numbers_wrap_around_stay_behind() -> None:
    numbers = [*range(1, 66_000), 70_000, *range(66_000, 70_000), *range(70_001, 140_000)]
    assert placed(numbers, 140_000) == numbers


@pytest.mark.parametrize("bit", (0, 4, 11, 12, 13, 14, 15))
def test_a_number_that_was_corrupted_moves_no_other_reply(bit: int) -> None:
    numbers = list(range(1, 140_001))
    seqs = [number % 65536 for number in numbers]
    for spoilt in (5000, 40_000, 65_535, 100_000):
        seqs[spoilt] ^= 1 << bit
    samples = ping.parse(pinged(seqs, 140_000), 1.0)
    assert len({one.at for one in samples if one.at is not None}) >= 140_000 - 4


def test_replies_to_what_was_mostly_never_sent_have_failed() -> None:
    text = re.sub(r"icmp_seq=(\d)", r"icmp_seq=6000\1", captured("ping-clean.txt"))
    with pytest.raises(WorkloadFailed, match="ping printed 5 first replies to 0 requests"):
        ping.parse(text, 0.01)


def test_duplicates_that_ping_counted_and_did_not_print_have_failed() -> None:
    text = captured("ping-loss-dup.txt")
    first = next(line for line in text.splitlines(keepends=True) if "DUP!" in line)
    with pytest.raises(WorkloadFailed, match="ping counted 3 duplicates and printed 2"):
        ping.parse(text.replace(first, ""), 0.01)
    with pytest.raises(WorkloadFailed, match="ping counted 0 duplicates and printed 3"):
        ping.parse(text.replace(" +3 duplicates,", ""), 0.01)


def test_times_whose_mean_is_not_the_one_that_ping_summed_up_have_failed() -> None:
    text = captured("ping-clean.txt").replace("seq=2 ttl=64 time=0.015", "seq=2 ttl=64 time=0.031")
    with pytest.raises(WorkloadFailed, match=r"ping printed 0\.019 ms on average and summed up 0\.015 ms"):
        ping.parse(text, 0.01)


@given(times=st.lists(st.integers(0, 3_000_000), min_size=1, max_size=50))
def test_no_rounding_of_ping_is_a_contradiction(times: list[int]) -> None:
    # Microseconds, as ping_common.c of iputils 20221126 prints them.
    lines = [f"icmp_seq={number} ttl=64 time={rounded(time)} ms" for number, time in enumerate(times, 1)]
    low, mean, high = (
        f"{time // 1000}.{time % 1000:03}" for time in (min(times), sum(times) // len(times), max(times))
    )
    summary = f"{len(times)} packets transmitted, {len(times)} received, 0% packet loss, time 9ms"
    samples = ping.parse("\n".join([*lines, summary, f"rtt min/avg/max/mdev = {low}/{mean}/{high}/0.000 ms"]), 0.01)
    assert len(samples) == len(times) + 2


def rounded(time: int) -> str:
    """A round-trip time in microseconds as ping prints it, in milliseconds."""
    if time >= 100_000 - 50:
        return f"{(time + 500) // 1000}"
    if time >= 10_000 - 5:
        return f"{(time + 50) // 1000}.{(time + 50) % 1000 // 100}"
    if time >= 1000:
        return f"{(time + 5) // 1000}.{(time + 5) % 1000 // 10:02}"
    return f"0.{time:03}"


def rounded_without_carry(time: int) -> str:
    """The same as ping_common.c of iputils s20180629 prints it, which loses the carry into the next millisecond."""
    if time >= 100_000:
        return f"{time // 1000}"
    if time >= 10_000:
        return f"{time // 1000}.{(time % 1000 + 50) // 100}"
    if time >= 1000:
        return f"{time // 1000}.{(time % 1000 + 5) // 10:02}"
    return f"0.{time:03}"


@pytest.mark.parametrize("time", [1994, 1995, 1999, 9994, 9996, 10_000, 10_949, 10_950, 49_949, 49_960, 99_949, 99_999])
def test_a_carry_that_an_old_ping_loses_is_put_back(time: int) -> None:
    exact = f"{time / 1000:.3f}"
    text = (
        f"64 bytes from 10.0.1.3: icmp_seq=1 ttl=64 time={rounded_without_carry(time)} ms\n"
        "3 packets transmitted, 1 received, 66% packet loss, time 9ms\n"
        f"rtt min/avg/max/mdev = {exact}/{exact}/{exact}/0.000 ms"
    )
    [rtt, loss, _] = ping.parse(text, 0.01)
    assert rtt.value == pytest.approx(time / 1e6, rel=0.006)
    assert loss.value == pytest.approx(2 / 3)


@pytest.mark.parametrize("percent", ["67", "65", "66.5", "0"])
def test_a_loss_that_no_ping_prints_has_failed(percent: str) -> None:
    text = pinged([1], 3).replace("66.6667%", f"{percent}%")
    with pytest.raises(WorkloadFailed, match="makes no sense"):
        ping.parse(text, 0.01)


def test_more_refusals_than_errors_have_failed() -> None:
    text = captured("ping-df-local.txt") + "ping: local error: message too long, mtu=1500\n"
    with pytest.raises(WorkloadFailed, match="ping counted 3 errors and printed 4 requests that were refused"):
        ping.parse(text, 0.01, df=True)


@given(seed=st.integers(0, 2**32))
def test_output_that_was_edited_gives_sound_values_or_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    sound(of("ping", lambda text: ping.parse(text, 0.01, df=True), []), edited(captured(dice.choice(REFUSALS)), dice))
