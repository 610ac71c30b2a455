"""One speed for the whole set: the median of the items' own, and how far each is from it."""

import tomllib

import pytest

from tunbench.calibrate.fit import Compared, Fit, compare, fit
from tunbench.calibrate.items import CIPHERS, PATHS, WHOLE_SET, machine_table
from tunbench.plan.axes.machine import MAX_SPEED, MIN_SPEED, Machine, read_machines

NONE, SMALL, OPENVPN = PATHS
AES, CHACHA, SHA = CIPHERS


def fitted(*speeds: float) -> Fit:
    """What fits items that had these speeds of their own."""
    return fit([Compared(item, speed * 7, 7000) for item, speed in zip(WHOLE_SET, speeds, strict=False)], ())


def test_the_speed_of_an_item_is_how_often_the_host_does_what_the_vm_does() -> None:
    assert Compared(NONE, native=30e9, virtual=10e9).speed == 3000
    assert Compared(AES, native=2e8, virtual=4e8).speed == 500


def test_the_median_of_several_runs_counts_on_each_side() -> None:
    [one] = compare(PATHS, {NONE: [1e9, 9e9, 3e9]}, {NONE: [2e9, 1e9, 1e9]})
    assert (one.native, one.virtual) == (3e9, 1e9)


def test_what_is_missing_on_a_side_is_not_compared() -> None:
    found = compare(WHOLE_SET, {NONE: [1], AES: [1], SMALL: []}, {AES: [2], SMALL: [1], CHACHA: [1]})
    assert [one.item for one in found] == [AES]


def test_one_speed_is_the_median() -> None:
    assert fitted(1000, 3000, 2000).machine.speed == 2000


def test_of_two_in_the_middle_it_is_their_geometric_mean() -> None:
    assert fitted(1000, 4000).machine.speed == 2000


def test_an_outlier_does_not_move_it() -> None:
    assert fitted(1000, 1000, 1000, 1000, 9e6).machine.speed == 1000


@pytest.mark.parametrize(
    ("speed", "rounded"), [(3456.7, 3460), (1234, 1230), (987.4, 987), (51.26, 51), (12345, 12300)]
)
def test_it_has_three_digits_and_is_a_whole_number(speed: float, rounded: int) -> None:
    assert fitted(speed).machine.speed == rounded


@pytest.mark.parametrize(("speed", "bounded"), [(20, MIN_SPEED), (30_000, MAX_SPEED)])
def test_a_plan_has_bounds(speed: float, bounded: int) -> None:
    found = fitted(speed)
    assert found.machine.speed == bounded
    assert found.bounded
    assert found.speed == pytest.approx(speed)
    assert not fitted(1000).bounded


def test_how_well_it_fits() -> None:
    found = fitted(500, 1000, 1250)
    assert [found.off(one) for one in found.compared] == [0.5, 1, 1.25]
    assert found.worst.item == NONE
    assert found.factor == pytest.approx(2)
    assert found.usual_factor == pytest.approx(1.25)


def test_too_fast_is_as_bad_as_too_slow() -> None:
    assert fitted(600, 1000, 3000).worst.item == OPENVPN
    assert fitted(600, 1000, 3000).factor == pytest.approx(3)


def test_the_machine_lacks_what_the_host_does() -> None:
    found = fit([Compared(NONE, 1, 1)], ("aes", "vaes"))
    assert found.machine == Machine("this-host", ("aes", "vaes"), 1000)
    assert machine_table(found.machine) == '{ name = "this-host", cpu.speed = 1000, cpu.without = ["aes", "vaes"] }'


@pytest.mark.parametrize("without", [(), ("aes", "vaes")])
def test_a_plan_reads_the_table_as_it_was_meant(without: tuple[str, ...]) -> None:
    meant = fit([Compared(NONE, 3, 1)], without).machine
    table = tomllib.loads(f"machine = {machine_table(meant)}")["machine"]
    assert list(read_machines(table)) == [meant]


def test_ciphers_do_not_count_beside_paths() -> None:
    assert fitted(1000, 1000, 1000, 9000, 9000, 9000).machine.speed == 1000
    assert fit([Compared(AES, 3, 1), Compared(SHA, 3, 1)], ()).machine.speed == 3000
