"""Time of processors, over the texts that two kernels showed: that of the VM (6.1, one core), and 6.18 with two."""

import re
from pathlib import Path

import pytest

from tests.helpers.fakes import captured
from tests.helpers.machines import Machine, machine_in, one_core, stat, timers, values
from tunbench.runner.probes import processor as processors
from tunbench.runner.probes.shared import processor_time
from tunbench.runner.probes.shared.processor_time import Clock


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_in(tmp_path, monkeypatch)


def test_idle_time_is_read_to_the_nanosecond() -> None:
    clock = processor_time.idle_of_timers(captured("timer-list-vm.txt"))
    shown = re.findall(r"(?:now at|idle_sleeptime :|iowait_sleeptime:) (\d+)", captured("timer-list-vm.txt"))
    assert clock == Clock(int(shown[0]) * 1e-9, {"cpu0": (int(shown[1]) + int(shown[2])) * 1e-9})


def test_each_core_has_its_own_and_waiting_for_a_disk_is_idle_too() -> None:
    text = captured("timer-list-two-cores.txt")
    clock = processor_time.idle_of_timers(text)
    sleeps, waits = (re.findall(rf"{name}_sleeptime\s*: (\d+)", text) for name in ("idle", "iowait"))
    assert clock
    assert clock.idle == {f"cpu{core}": (int(sleeps[core]) + int(waits[core])) * 1e-9 for core in (0, 1)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Timer List Version: v0.9\n",
        captured("timer-list-vm.txt").replace(".nohz_mode      : 2", ".nohz_mode      : 0"),
        captured("timer-list-two-cores.txt").replace(".nohz           : 1", ".nohz           : 0"),
        re.sub(".*sleeptime.*\n", "", captured("timer-list-vm.txt")),
        captured("timer-list-vm.txt").replace("now at", "now"),
    ],
)
def test_a_kernel_that_does_not_keep_idle_time_there_is_noticed(text: str) -> None:
    assert processor_time.idle_of_timers(text) is None


def test_busy_is_what_passed_less_what_was_idle(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch)
    machine.show("proc/timer_list", captured("timer-list-vm.txt"))
    before = processor_time.clock(machine.scene.machine)
    machine.show("proc/timer_list", timers(captured("timer-list-vm.txt"), 1.0, {0: 0.9}))
    busy = processor_time.between(before, processor_time.clock(machine.scene.machine))
    assert busy.elapsed == pytest.approx(1.0)
    assert busy.total == pytest.approx(0.1)


def test_idle_time_of_all_cores_is_ended_before_it_is_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = one_core(monkeypatch, {0, 1})
    machine.show("proc/timer_list", captured("timer-list-two-cores.txt"))
    assert set(processor_time.clock(machine.scene.machine).idle) == {"cpu0", "cpu1"}
    assert asked == [{0}, {1}, {0, 1}]


def test_where_a_core_cannot_be_visited_ticks_are_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch, {0})
    machine.show("proc/timer_list", captured("timer-list-two-cores.txt"))
    machine.show("proc/uptime", "13916.49 9129.63\n")
    machine.show("proc/stat", captured("stat-two-cores.txt"))
    fields = re.findall(r"^cpu\d (.*)$", captured("stat-two-cores.txt"), re.MULTILINE)
    idle = [int(line.split()[3]) + int(line.split()[4]) for line in fields]
    clock = processor_time.clock(machine.scene.machine)
    assert clock.at == 13916.49
    assert clock.idle == pytest.approx({"cpu0": idle[0] / 100, "cpu1": idle[1] / 100})


def test_busy_is_never_below_zero_nor_above_what_passed() -> None:
    before = Clock(10.0, {"cpu0": 5.0, "cpu1": 5.0, "cpu2": 5.0})
    busy = processor_time.between(before, Clock(11.0, {"cpu0": 6.01, "cpu1": 4.9, "cpu3": 1.0}))
    assert busy.by_core == {"cpu0": 0.0, "cpu1": 1.0}


def test_the_time_of_processors_is_told_by_kind(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch)
    text = captured("stat-vm.txt")
    machine.show("proc/timer_list", captured("timer-list-vm.txt"))
    machine.show("proc/stat", text)
    before = processors.read(machine.scene)
    machine.show("proc/timer_list", timers(captured("timer-list-vm.txt"), 1.0, {0: 0.25}))
    switched = int(re.findall(r"ctxt (\d+)", text)[0])
    later = stat(text, user=10, nice=3, system=40, softirq=22, idle=25).replace(
        f"ctxt {switched}", f"ctxt {switched + 77}"
    )
    machine.show("proc/stat", later)
    found = processors.samples(before, processors.read(machine.scene))
    expected = {"busy": 0.75, "user": 0.13, "system": 0.4, "softirq": 0.22, "context-switches": 77}
    assert values(found) == pytest.approx(expected)
    assert {one.node for one in found} == {"lab"}, "one core is the machine"


def test_several_cores_are_told_each(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch, {0, 1})
    machine.show("proc/timer_list", captured("timer-list-two-cores.txt"))
    machine.show("proc/stat", captured("stat-two-cores.txt"))
    before = processors.read(machine.scene)
    machine.show("proc/timer_list", timers(captured("timer-list-two-cores.txt"), 1.0, {0: 0.2, 1: 0.9}))
    machine.show("proc/stat", stat(captured("stat-two-cores.txt"), system=50))
    found = processors.samples(before, processors.read(machine.scene))
    assert values(found)["busy"] == pytest.approx(0.45)
    assert values(found, "cpu0") == pytest.approx({"busy": 0.8, "user": 0, "system": 0.5, "softirq": 0})
    assert values(found, "cpu1") == pytest.approx({"busy": 0.1, "user": 0, "system": 0, "softirq": 0})


def test_cores_that_are_busy_all_the_time_are_never_busy_for_longer() -> None:
    # 6.51 + 6.51 + 6.51 is more than 3 × 6.51 in floating point.
    elapsed, cores = 6.51, dict.fromkeys(("cpu0", "cpu1", "cpu2"), 1.0)
    kinds = {name: dict.fromkeys(processor_time.PROCESSOR_TIMES, 0.0) for name in ("cpu", *cores)}
    before, after = (processors.Reading(Clock(at, cores), kinds, 0) for at in (0.0, elapsed))
    busy = processor_time.between(before.clock, after.clock)
    assert busy.total / busy.elapsed / len(cores) > 1
    assert values(processors.samples(before, after))["busy"] == 1


@pytest.mark.parametrize("uptime", ["NaN 1.00\n", "1e400 1.00\n", "inf 1.00\n", "\u0663.00 1.00\n", "\n"])
def test_an_uptime_that_is_no_time_has_failed(uptime: str) -> None:
    with pytest.raises(ValueError, match="/proc/uptime is"):
        processor_time.idle_of_ticks(uptime, captured("stat-vm.txt"))


def test_what_is_no_number_of_the_kernel_has_failed() -> None:
    strange = re.sub(r"\d", "\u0663", captured("stat-vm.txt"))
    with pytest.raises(ValueError, match="/proc/stat is no ASCII"):
        processor_time.times(strange)
    with pytest.raises(ValueError, match="/proc/stat shows no context switches"):
        processor_time.switches(strange)
    assert processor_time.idle_of_timers(re.sub(r"\d", "\u0663", captured("timer-list-vm.txt"))) is None
