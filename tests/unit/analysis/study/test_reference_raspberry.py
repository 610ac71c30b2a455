"""The published numbers of the Raspberry Pi study agree with each other, so that a slip of transcription is found."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tunbench

Row = dict[str, str]
Cells = dict[tuple[str, str, str, str, str], Row]

FILE = Path(tunbench.__file__).parent / "reference" / "raspberry-pi-2021.csv"
COLUMNS = ["table", "system", "condition", "metric", "statistic", "unit", "value", "source"]
KEY = COLUMNS[:5]

SYSTEMS = [
    "none",
    "IPsec AES-128-GCM",
    "IPsec AES-256-GCM",
    "IPsec ChaCha20-Poly1305",
    "MACsec",
    "OpenVPN",
    "WireGuard",
]
UNITS = {
    "throughput": {"Mbit/s", "Kbit/s"},
    "rtt": {"ms"},
    "jitter": {"ms"},
    "time": {"s"},
    "lost": {"packets"},
    "sent": {"packets"},
    "cpu": {"%"},
    "frequency": {"MHz"},
    "temperature": {"°C"},
    "mtu": {"B"},
}
CONDITIONS = {
    "delay": [f"delay {number} ms" for number in range(0, 101, 10)],
    "jitter": [f"jitter {number} ms" for number in range(11)],
    "loss": [f"loss {number / 2:g} %" for number in range(11)],
    "networks": [f"network {number}" for number in (1, 2, 3)],
}
SIZES = {"UDP 400M": 1300, "UDP 1M": 256}
SECONDS = 300
"""For how long iperf ran: section 3.4 of the thesis."""

CONTRADICTIONS = {
    ("delay UDP 400M", "IPsec AES-128-GCM", "delay 100 ms"),
    ("loss UDP 1M", "MACsec", "loss 4.5 %"),
}
"""Tests that sent fewer packets than all others and must have been shorter: the rate is not that of 300 s."""


def rows() -> list[Row]:
    with FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def cells() -> Cells:
    return {tuple(row[name] for name in KEY): row for row in rows()}  # type: ignore[misc]


def number(cells: Cells, *key: str) -> float | None:
    """A published value in bit/s, packets or as it stands; None where there is none."""
    row = cells[key]  # type: ignore[index]
    scale = {"Mbit/s": 1e6, "Kbit/s": 1e3}.get(row["unit"], 1)
    return float(row["value"]) * scale if row["value"] else None


def rough(text: str) -> float:
    """By how much a number may be off that is printed as 5E+06, or as a whole one."""
    return float("0.5E" + (text.partition("E+")[2] or "0"))


def wrong_rates(cells: Cells) -> Iterator[tuple[str, str, str]]:
    """The UDP tests whose rate is not that of the packets that arrived."""
    for table, system, condition, metric, statistic in cells:
        size = SIZES.get(table.split(" ", 1)[1] if " " in table else "")
        if table.startswith("loss repeated"):
            size = SIZES["UDP 400M"]
        if size is None or metric != "throughput" or statistic == "sd":
            continue
        rate, lost, sent = (
            number(cells, table, system, condition, name, statistic) for name in ("throughput", "lost", "sent")
        )
        if rate is None or lost is None or sent is None:
            continue
        # Three printed digits are off by half a percent at most, and packets of the jitter tables have one digit.
        printed = [cells[table, system, condition, name, statistic]["value"] for name in ("lost", "sent")]
        allowed = 0.006 * rate + sum(rough(text) for text in printed) * size * 8 / SECONDS
        if lost > sent or abs((sent - lost) * size * 8 / SECONDS - rate) > allowed:
            yield table, system, condition


def unordered_pings(cells: Cells) -> Iterator[tuple[str, str, str]]:
    """The pings whose mean is not between the smallest and the largest round-trip time."""
    for table, system, condition, metric, statistic in cells:
        if metric == "rtt" and statistic == "mean":
            least, mean, most = (
                number(cells, table, system, condition, "rtt", name) for name in ("min", "mean", "max")
            )
            assert least is not None and mean is not None and most is not None
            if not least <= mean <= most:
                yield table, system, condition


def wrong_losses(cells: Cells) -> Iterator[tuple[str, str]]:
    """The UDP tests at 1 Mbit/s that lost another part of their packets than netem dropped."""
    for condition in CONDITIONS["loss"]:
        asked = float(condition.split()[1]) / 100
        for system in SYSTEMS:
            key = ("loss UDP 1M", system, condition)
            lost, sent = (number(cells, *key, name, "value") for name in ("lost", "sent"))
            # 146,485 packets: four standard deviations are 0.0023 at a loss of 5 %.
            if lost is not None and sent is not None and abs(lost / sent - asked) > 0.0023:
                yield system, condition


def test_the_columns_are_those_of_a_reference_table() -> None:
    with FILE.open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == COLUMNS


def test_no_cell_stands_twice(cells: Cells) -> None:
    assert len(cells) == len(rows()) == 4202


def test_values_are_numbers_or_missing_for_a_reason() -> None:
    for row in rows():
        if row["value"]:
            assert float(row["value"]) >= 0, row
        else:
            assert ": " in row["source"], row


def test_systems_and_units_have_one_spelling() -> None:
    for row in rows():
        assert row["system"] in SYSTEMS, row
        assert row["unit"] in UNITS[row["metric"]], row


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_tables_of_impairments_are_complete(cells: Cells, name: str) -> None:
    wanted = {
        "ping": Counter(min=1, mean=1, max=1, mdev=1),
        "TCP": Counter(value=1),
        "SCP": Counter(value=1),
        "UDP 400M": Counter(value=4),
        "UDP 1M": Counter(value=4),
    }
    for test, statistics in wanted.items():
        found: dict[tuple[str, str], Counter[str]] = {}
        for table, system, condition, _, statistic in cells:
            if table == f"{name} {test}":
                found.setdefault((system, condition), Counter())[statistic] += 1
        assert found == {(system, c): statistics for system in SYSTEMS for c in CONDITIONS[name]}


def test_a_mean_is_between_the_extremes(cells: Cells) -> None:
    assert list(unordered_pings(cells)) == []


def test_a_delay_is_waited_for_there_and_back(cells: Cells) -> None:
    for condition in CONDITIONS["delay"]:
        for system in SYSTEMS:
            least = number(cells, "delay ping", system, condition, "rtt", "min")
            assert least is not None
            assert 0 < least - 2 * float(condition.split()[1]) < 1


def test_a_rate_is_that_of_the_packets_that_arrived(cells: Cells) -> None:
    assert set(wrong_rates(cells)) == CONTRADICTIONS


def test_what_was_lost_is_what_was_dropped(cells: Cells) -> None:
    assert list(wrong_losses(cells)) == []


def test_the_labels_of_figure_16_are_the_means_of_appendix_6(cells: Cells) -> None:
    for system in SYSTEMS:
        label = number(cells, "SCP of figure 16", system, "ideal network", "time", "mean")
        mean = number(cells, "ideal SCP", system, "ideal network", "time", "mean")
        assert mean is not None
        assert label is None or label == round(mean, 2)


def test_a_copy_is_no_faster_than_what_tcp_carries(cells: Cells) -> None:
    """256 MB by scp are not much faster than iperf's TCP, but for five contradictions of the source."""
    faster = set()
    for name, conditions in CONDITIONS.items():
        for system in SYSTEMS:
            for condition in conditions:
                rate = number(cells, f"{name} TCP", system, condition, "throughput", "value")
                seconds = number(cells, f"{name} SCP", system, condition, "time", "value")
                assert seconds is not None
                # Four rates lost their decimal point, and are illegible.
                if rate is not None and 256e6 * 8 / seconds > 1.15 * rate:
                    faster.add((system, condition))
    assert faster == {
        ("IPsec AES-256-GCM", "loss 3 %"),
        ("MACsec", "jitter 9 ms"),
        ("OpenVPN", "jitter 1 ms"),
        ("OpenVPN", "jitter 4 ms"),
        ("none", "jitter 7 ms"),
    }


@pytest.mark.parametrize(
    ("key", "value", "check"),
    [
        # A decimal point that recognition lost, and two numbers that changed their places.
        (("loss UDP 400M", "MACsec", "loss 3 %", "throughput", "value"), "721", wrong_rates),
        (("ideal UDP 400M", "IPsec AES-256-GCM", "ideal network", "sent", "mean"), "20268114", wrong_rates),
        (("networks UDP 1M", "MACsec", "network 2", "lost", "value"), "8448", wrong_rates),
        (("networks ping", "WireGuard", "network 3", "rtt", "mean"), "244751", unordered_pings),
        (("loss ping", "OpenVPN", "loss 2 %", "rtt", "max"), "0.94", unordered_pings),
        (("loss UDP 1M", "WireGuard", "loss 4 %", "lost", "value"), "6582", wrong_losses),
    ],
)
def test_a_slip_would_be_found(cells: Cells, key: tuple[str, str, str, str, str], value: str, check: object) -> None:
    slipped = {**cells, key: {**cells[key], "value": value}}
    assert callable(check)
    assert set(check(slipped)) > set(check(cells))
