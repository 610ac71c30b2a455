"""Probes of a machine whose /proc and /sys are folders."""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured
from tests.helpers.machines import DEVICES, OVERLAYS, Machine, carry, machine_in, one_core, timers, values
from tunbench.runner import probe, registry
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.probes import cost, hardware, memory
from tunbench.runner.probes.shared import overlay_traffic
from tunbench.runner.probes.shared.overlay_traffic import Carried
from tunbench.runner.site import Site
from tunbench.runner.stack import Stack
from tunbench.runner.workload import Sample, Trial


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_in(tmp_path, monkeypatch)


def look_twice(machine: Machine, change: Callable[[], object]) -> list[Sample]:
    first = cost.read(machine.scene)
    change()
    return cost.samples(first, cost.read(machine.scene))


def test_cost_is_busy_time_a_byte_and_a_packet(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch)
    carry(machine, (1000, 10), (2000, 20))
    machine.show("proc/timer_list", captured("timer-list-vm.txt"))

    def change() -> None:
        carry(machine, (1500, 15), (101_500, 105))
        machine.show("proc/timer_list", timers(captured("timer-list-vm.txt"), 2.0, {0: 0.5}))

    found = look_twice(machine, change)
    assert values(found) == pytest.approx(
        {"carried": 100_000, "packets": 90, "cost": 1.5 / 100_000, "cost-packet": 1.5 / 90}
    )
    assert all(one.at is None and one.node == "lab" for one in found)


@pytest.mark.parametrize("b", [(2000, 20), (0, 0), (10, 1)])
def test_without_anything_carried_there_is_no_cost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, b: tuple[int, int]
) -> None:
    one_core(monkeypatch)
    carry(machine, (1000, 10), (2000, 20))
    assert look_twice(machine, lambda: carry(machine, (1000, 10), b)) == []


def test_interfaces_that_are_not_there_carry_nothing() -> None:
    devices = DEVICES.format(size=5, packets=1)
    assert overlay_traffic.received(devices, "wireguard-0") == Carried(5, 1)
    assert overlay_traffic.received(devices, "wireguard") == Carried(0, 0)
    assert overlay_traffic.received("", "eth0") == Carried(0, 0)


def test_bytes_are_those_of_packets(machine: Machine) -> None:
    carry(machine, (1400, 10), (560, 10))
    overlays = {name: OVERLAYS[name]._replace(framing=size) for name, size in (("a", 14), ("b", 32))}
    scene = machine.scene._replace(overlays=overlays)
    assert overlay_traffic.arrived(scene) == Carried(1260 + 240, 20)


def test_memory_is_that_of_processes_that_were_there_before(machine: Machine) -> None:
    machine.show("proc/meminfo", captured("meminfo-vm.txt"))
    machine.process("101", 1, name="sleep")
    daemon = machine.process("101", 17, user=4)
    machine.process("101", 20, name="tcpdump")
    machine.process("102", 1, name="sleep")
    before = memory.read(machine.scene)
    assert (daemon / "clear_refs").read_text() == "5", "its peak begins anew"
    machine.process("101", 17, user=11, peak="9000")
    machine.process("101", 33, name="iperf3", peak="99999")
    found = memory.samples(before, memory.read(machine.scene))
    assert values(found, "a") == pytest.approx({"memory": 9000 * 1024, "process-time": 0.21})
    assert values(found, "b") == {"memory": 0, "process-time": 0}
    sizes = dict(re.findall(r"(\w+):\s+(\d+) kB", captured("meminfo-vm.txt")))
    kernel = sum(int(sizes[name]) for name in ("Slab", "PageTables", "Percpu", "VmallocUsed"))
    assert values(found) == {"kernel-memory": kernel * 1024}


def test_other_digits_than_those_of_the_kernel_are_no_memory() -> None:
    assert memory.peak("VmHWM:\t\u0663 kB\n") == 0
    assert memory.kernel("Slab: \u0663 kB\n") == 0


def test_a_process_that_ended_meanwhile_does_not_count(machine: Machine) -> None:
    machine.process("101", 17)
    gone = machine.process("101", 18)
    before = memory.read(machine.scene)
    (gone / "stat").unlink()
    assert values(memory.samples(before, memory.read(machine.scene)), "a")["memory"] == 7168 * 1024


def test_a_node_that_takes_no_part_is_not_told(machine: Machine) -> None:
    router = Node("router", FakeShell(), FakeEvents(), ["nsenter", "--target", "103", "--"])
    machine.process("103", 1, name="sleep")
    scene = machine.scene._replace(nodes=[*machine.nodes, router])
    assert "router" not in memory.read(scene).processes
    machine.process("103", 9, name="lighthouse")
    assert "router" in memory.read(scene).processes


def test_hardware_tells_what_the_machine_shows(machine: Machine) -> None:
    for core, kilohertz in enumerate((1_200_000, 3_600_000)):
        machine.show(f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", f"{kilohertz}\n")
    for zone, millidegrees in enumerate((41_000, 63_500)):
        machine.show(f"sys/class/thermal/thermal_zone{zone}/temp", f"{millidegrees}\n")

    def spend(*microjoules: int) -> None:
        names = {"0": "package-0", "1": "package-1", "0:0": "core", "2": "psys"}
        for (domain, name), value in zip(names.items(), microjoules, strict=True):
            domain = f"intel-rapl:{domain}"
            machine.show(f"sys/class/powercap/{domain}/name", f"{name}\n")
            machine.show(f"sys/class/powercap/{domain}/energy_uj", f"{value}\n")
            machine.show(f"sys/class/powercap/{domain}/max_energy_range_uj", "10000000\n")

    spend(1_000_000, 9_000_000, 500_000, 2_000_000)
    before = hardware.read(machine.scene)
    spend(4_000_000, 1_000_000, 900_000, 9_000_000)
    found = hardware.samples(before, hardware.read(machine.scene))
    # The second package's counter came to its end at 10 J; the domain within the first is counted with it, and the
    # machine's own domain has both packages in it.
    assert values(found) == pytest.approx({"frequency": 2.4e9, "temperature": 63.5, "energy": 3.0 + 2.0})


@pytest.mark.parametrize("millidegrees", [-273_200, -273_150, -273_100])
def test_a_zone_without_a_reading_has_no_temperature(machine: Machine, millidegrees: int) -> None:
    machine.show("sys/class/thermal/thermal_zone0/temp", f"{millidegrees}\n")
    state = hardware.read(machine.scene)
    assert hardware.samples(state, state) == []


@pytest.mark.parametrize("name", registry.probe_names())
def test_a_machine_that_shows_nothing_has_no_samples(name: str, machine: Machine) -> None:
    module = registry.probe(name)
    assert module.samples(module.read(machine.scene), module.read(machine.scene)) == []


def trial(machine: Machine) -> Trial:
    return Trial({}, machine.nodes[0], machine.nodes[1], OVERLAYS)


def test_samples_join_those_of_the_trial(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one_core(monkeypatch)
    machine.show("proc/timer_list", captured("timer-list-vm.txt"))
    machine.show("proc/meminfo", captured("meminfo-vm.txt"))
    carry(machine, (0, 0), (0, 0))
    one = trial(machine)
    with probe.probing(["cost", "memory"], one):
        one.samples.append(Sample("rtt", 1e-3, 0.0))
        carry(machine, (100, 1), (100, 1))
    assert [sample.metric for sample in one.samples][:2] == ["rtt", "kernel-memory"]
    assert {sample.metric for sample in one.samples} <= {"rtt", *probe.metrics(["cost", "memory"])}


def test_the_closest_probe_looks_last_before_and_first_after(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    for name in registry.probe_names():
        module = registry.probe(name)
        monkeypatch.setattr(module, "read", lambda scene, name=name: looked.append(name))
        monkeypatch.setattr(module, "samples", lambda before, after: [])
    with probe.probing(registry.probe_names(), trial(machine)):
        looked.append("workload")
    assert looked == ["hardware", "memory", "processor", "cost", "workload", "cost", "processor", "memory", "hardware"]


def test_trials_at_once_share_one_look_at_all_their_ends(machine: Machine) -> None:
    third = Node("c", FakeShell(), FakeEvents(), ["nsenter", "--target", "103", "--"])
    lab = Node("lab", FakeShell(), FakeEvents())
    overlays = {**OVERLAYS, "c": Overlay("wireguard-0", "10.10.0.3", 24, 1420)}
    site = Site({"lab": lab, "c": third}, PAIR_UNDERLAYS["ip"], Stack("none", [], []))
    first = Trial({}, machine.nodes[0], machine.nodes[1], overlays, site=site)
    second = Trial({}, machine.nodes[0], third, overlays, number=1, site=site)
    around = probe.scene([first, second])
    assert [node.name for node in around.nodes] == ["a", "b", "c"]
    assert dict(around.overlays) == overlays
    machine.show("proc/meminfo", captured("meminfo-vm.txt"))
    with probe.probing(["memory"], first, second):
        pass
    assert values(first.samples) and second.samples == []


def test_a_workload_that_fails_has_no_cost(machine: Machine) -> None:
    one = trial(machine)
    machine.show("proc/meminfo", captured("meminfo-vm.txt"))
    with pytest.raises(ValueError, match="torn"), probe.probing(["memory"], one):
        raise ValueError("torn")
    assert one.samples == []


def test_an_unknown_probe_is_named(machine: Machine) -> None:
    with pytest.raises(ValueError, match='unknown probe "heat"'), probe.probing(["heat"], trial(machine)):
        pass


def test_what_the_probes_take_themselves_is_a_sample(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.show("proc/meminfo", captured("meminfo-vm.txt"))
    # Processor time: 10 ms before the workload, and 20 ms behind it; 1 s passes.
    spent, passed = iter([1.0, 1.01, 1.5, 1.52]), iter([100.0, 101.0])
    monkeypatch.setattr(time, "thread_time", lambda: next(spent))
    monkeypatch.setattr(probe, "now", lambda: next(passed))
    one = trial(machine)
    with probe.probing(["memory"], one):
        pass
    assert one.samples[-1].metric == probe.PROBE_SHARE
    assert one.samples[-1].value == pytest.approx(0.03)
    assert probe.metrics(["memory"])[probe.PROBE_SHARE].unit == "ratio"


def test_what_other_threads_compute_meanwhile_is_not_the_probes_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.show("proc/meminfo", captured("meminfo-vm.txt"))
    read = memory.read

    def read_beside_a_thread(scene: probe.Scene) -> object:
        other = threading.Thread(target=compute)
        other.start()
        other.join()
        return read(scene)

    monkeypatch.setattr(memory, "read", read_beside_a_thread)
    one = trial(machine)
    with probe.probing(["memory"], one):
        pass
    assert one.samples[-1].metric == probe.PROBE_SHARE
    assert one.samples[-1].value < 0.5


def compute() -> None:
    """Takes 50 ms of processor time."""
    while time.thread_time() < 0.05:
        pass


def test_without_probes_there_is_nothing_to_measure_of_them(machine: Machine) -> None:
    one = trial(machine)
    with probe.probing([], one):
        pass
    assert one.samples == []
    assert probe.metrics([]) == {}
