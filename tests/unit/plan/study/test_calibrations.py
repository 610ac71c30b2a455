"""What calibrates the shipped studies, and what their links carry: by arithmetic of their own."""

import pytest

from tunbench.journal.readers.published import calibrating, numbers_of_tables, of_table
from tunbench.plan.axes.link import shipped
from tunbench.plan.load import load
from tunbench.plan.study.calibration import table_of
from tunbench.plan.study.published_table import PublishedTable

HEADERS_OF_TCP = 12 + 20 + 20
"""Timestamps, TCP and IP."""

HEADERS_OF_UDP = 8 + 20

FRAME = 14 + 24
"""Ethernet's header, and the check sequence, preamble and gap beside a frame (IEEE 802.3)."""


def tables(study: str) -> dict[tuple[str, str], PublishedTable]:
    found = load(study).study
    assert found
    return {(one.table, one.statistic or one.metric): one for one in found.table}


def carried(rate: float, payload: int, headers: int) -> float:
    return rate * payload / (payload + headers + FRAME)


@pytest.mark.parametrize("name", ["openwrt-2016", "raspberry-pi-2021", "mesh-thesis-2026", "mesh-kubernetes-2024"])
def test_a_machine_that_a_study_calibrates_has_a_link_of_its_name(name: str) -> None:
    loaded = load(name)
    assert loaded.study and loaded.study.calibration
    machine = loaded.study.calibration.machine
    assert machine in shipped() and machine in loaded.plan.axes["link"]


@pytest.mark.parametrize(
    ("name", "number", "machine"),
    [
        ("openwrt-2016", 80.3e6, "wr841n"),
        ("raspberry-pi-2021", 77.65e6, "pi4"),
        ("mesh-thesis-2026", 336e6, "mesh-testbed-2026"),
    ],
)
def test_one_published_number_calibrates_each(name: str, number: float, machine: str) -> None:
    loaded = load(name)
    study = loaded.study
    assert study and study.calibration and study.calibration.machine == machine
    table = study.table[table_of(study.calibration, study.table)]
    assert calibrating(study.calibration, of_table(table, numbers_of_tables(loaded))).value == number


def test_the_router_carries_less_of_smaller_segments() -> None:
    rates = tables("openwrt-2016")["throughput", "throughput"].link_rate
    assert len(rates) == 8
    for condition, rate in rates.items():
        payload = 1448 if condition == "max / auto" else int(condition.removesuffix(" bytes"))
        assert rate == pytest.approx(carried(100e6, payload, HEADERS_OF_TCP), abs=0.05e6)


def test_a_gigabit_carries_so_much_of_tcp_and_of_udp() -> None:
    tcp, udp = carried(1e9, 1448, HEADERS_OF_TCP), carried(1e9, 1472, HEADERS_OF_UDP)
    mesh, pi = tables("mesh-thesis-2026"), tables("raspberry-pi-2021")
    rates = [
        (mesh["TCP at baseline", "throughput"], tcp),
        (mesh["parallel scaling", "sum"], 6 * tcp),
        (mesh["UDP at baseline", "throughput"], udp),
        (pi["ideal TCP", "mean"], tcp),
    ]
    for table, rate in rates:
        assert set(table.link_rate) == set(table.conditions)
        assert all(one == pytest.approx(rate, rel=5e-4) for one in table.link_rate.values())


def test_what_is_less_here_is_scaled_to_what_was_there() -> None:
    mesh, pi = tables("mesh-thesis-2026"), tables("raspberry-pi-2021")
    assert pi["ideal SCP", "mean"].scaled_by == 256 / 16
    assert {one.scaled_by for one in mesh.values()} == {1}
    assert {one.cell.get("statistic") for (_, statistic), one in mesh.items() if statistic == "sum"} == {"sum"}
