"""Frequency, temperature and energy, where a machine shows them: never in a VM, which has no such devices."""

from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.node.node import ROOT_NODE, Node
from tunbench.runner.probe import About, Scene
from tunbench.runner.workload import Sample

ABOUT = About(
    name="hardware",
    summary="frequency, temperature and energy of the processors, where the machine shows them",
    metrics={
        "frequency": Metric(
            "Hz",
            "mean frequency of the cores, over the moments right before and after the workload",
            more_is_better=None,
            question=Question.COSTLY,
        ),
        "temperature": Metric(
            "°C",
            "the hottest of the machine's thermal zones, right after the workload",
            more_is_better=None,
            question=Question.COSTLY,
        ),
        "energy": Metric(
            "J", "energy of all processor packages during the workload, by RAPL", None, question=Question.COSTLY
        ),
    },
)


PACKAGE = "package-"
"""How RAPL names a domain that is a processor's package. `psys` is a domain of its own, and contains it. Source: Linux
6.1, drivers/powercap/intel_rapl_common.c."""

NO_READING = -273_000
"""m°C up to which a thermal zone tells of no reading: 0 K, which is 273.1 to 273.2 °C below zero as ACPI rounds it."""


class Reading(NamedTuple):
    """Frequency of each core in Hz, temperatures in °C, and by domain its energy in J and where that wraps around."""

    frequencies: list[float]
    temperatures: list[float]
    energies: dict[str, tuple[float, float]]


def read(scene: Scene) -> Reading:
    """Reads sysfs: kHz of cpufreq, m°C of thermal zones, µJ of powercap (Linux, Documentation/ABI)."""
    machine = scene.machine
    frequencies = _numbers(machine, "/sys/devices/system/cpu", "cpu[0-9]*/cpufreq/scaling_cur_freq")
    temperatures = _numbers(machine, "/sys/class/thermal", "thermal_zone*/temp")
    energies = _numbers(machine, "/sys/class/powercap", "intel-rapl:[0-9]*/energy_uj")
    return Reading(
        [value * 1e3 for value in frequencies.values()],
        [value / 1e3 for value in temperatures.values() if value > NO_READING],
        # A domain within a package has two numbers in its name, and is counted with its package.
        {
            path.parent.name: (value / 1e6, _number(machine.read_if_there(path.parent / "max_energy_range_uj")) / 1e6)
            for path, value in energies.items()
            if path.parent.name.count(":") == 1 and machine.read_if_there(path.parent / "name").startswith(PACKAGE)
        },
    )


def samples(before: Reading, after: Reading) -> list[Sample]:
    """What the machine shows."""
    found = []
    if frequencies := before.frequencies + after.frequencies:
        found.append(Sample("frequency", sum(frequencies) / len(frequencies), node=ROOT_NODE))
    if after.temperatures:
        found.append(Sample("temperature", max(after.temperatures), node=ROOT_NODE))
    domains = before.energies.keys() & after.energies.keys()
    if domains:
        spent = sum(_spent(before.energies[name][0], *after.energies[name]) for name in sorted(domains))
        found.append(Sample("energy", spent, node=ROOT_NODE))
    return found


def _spent(before: float, after: float, wraps: float) -> float:
    """The energy between two readings of a counter that wraps around at most once."""
    return after - before if after >= before else after - before + wraps


def _numbers(machine: Node, folder: str, pattern: str) -> dict[Path, float]:
    texts = {path: machine.read_if_there(path) for path in machine.matching(Path(folder), pattern)}
    return {path: _number(text) for path, text in texts.items() if text}


def _number(text: str) -> float:
    text = text.strip()
    return float(text) if text.lstrip("-").isdigit() else 0.0
