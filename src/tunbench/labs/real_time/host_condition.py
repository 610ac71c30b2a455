"""The condition of the machine before a run on the real clock: what can disturb its numbers, and the mend."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tunbench.labs.real_time import noise
from tunbench.labs.real_time.noise import shown
from tunbench.plan.shard import Shard
from tunbench.runner.network import underlay
from tunbench.runner.network.tuning import OFFLOADS
from tunbench.runner.node import pinning
from tunbench.runner.probes.shared.processor_time import times

SECONDS = 1.0
"""How long other load is looked for before a run."""

STOLEN = 0.001
"""The part of the machine's time since it booted that a hypervisor may have given to others."""


class Kind(NamedTuple):
    """What a finding means, and the mend."""

    meaning: str
    mend: str


KINDS = {
    "other-load": Kind(
        "other programs kept the processors busy before the run began",
        "End them (`top` shows them), or run the plan in the vm lab on the virtual clock, which they cannot disturb.",
    ),
    "hidden-load": Kind(
        "this is a container, and the processes of others on the same machine are not seen",
        "Run it outside of the container, on the machine itself; here no trial is marked that others disturbed.",
    ),
    "frequency-scaling": Kind(
        "the processors change their frequency with their load",
        "Fix it with `sudo cpupower frequency-set -g performance`.",
    ),
    "turbo": Kind(
        "the processors go beyond their nominal frequency as long as heat and power allow it",
        "Switch that off as root: `echo 1 >/sys/devices/system/cpu/intel_pstate/no_turbo`, or with another driver "
        "`echo 0 >/sys/devices/system/cpu/cpufreq/boost`.",
    ),
    "stolen-time": Kind(
        "the hypervisor gives processor time of this machine to others",
        "Take a machine of your own, or a virtual one with dedicated cores; else raise repeats, and leave noisy trials "
        "out of what you conclude.",
    ),
    "virtualised": Kind(
        "this machine is itself a virtual one",
        "Read its numbers as those of this virtual machine; for those of the hardware, run the plan on it.",
    ),
    "clocksource": Kind(
        "the kernel's clock is not the processor's time stamp counter, and reading it takes longer",
        "Boot with `tsc=reliable` where the processor has a constant one; else do not read differences below 1 µs.",
    ),
    "congestion-control": Kind(
        "TCP's default congestion control is not the usual one, and nodes have it too",
        'Name one in the plan: `tuning = { name = "cubic", congestion = "cubic" }`.',
    ),
    "swapping": Kind(
        "a part of memory is swapped out, and what is needed again waits for a disk",
        "Switch swap off (`sudo swapoff -a`), or end what takes the memory.",
    ),
    "not-pinned": Kind(
        "nodes share cores, and the kernel moves them from one to another",
        "Take a machine with more cores; until then compare stacks with each other, and not with separate hosts.",
    ),
}
"""What is found of a machine, by the name of the warning."""


class Condition(NamedTuple):
    """Facts of the machine, by what they are called, and what was found: names of KINDS with what is said of each."""

    facts: dict[str, str]
    findings: list[tuple[str, str]]

    @property
    def event(self) -> dict[str, Any]:
        """What the journal is told."""
        return {"event": "condition", "facts": self.facts, "findings": [list(one) for one in self.findings]}

    @property
    def lines(self) -> list[str]:
        """One line for each finding, with its mend."""
        return [f"{name}: {text}. {KINDS[name].mend}" for name, text in self.findings]


def examine(kind: str, shards: Sequence[Shard], cores: Iterable[int]) -> Condition:
    """Examines the machine for a second, for a lab of that kind; `cores` are those that the run may use."""
    with noise.looking() as look:
        before = look()
        time.sleep(SECONDS)
        load = noise.between(before, look())
    apart = f"{1e6 * load.apart:.2f} µs" if load.apart else UNKNOWN
    facts = {"load of others": _percent(load.others), "processes": _seen(), **_processors(), **_system()}
    facts["to another core and back"] = apart
    # The nodes of a VM have its kernel and its cores, not this machine's.
    facts |= {**_network(), "pinning": _pinning(shards, set(cores))} if kind == "native" else {}
    told = [(name, text) for name, text in _findings(facts, load) if text]
    if all(shard.tuning.congestion for shard in shards):
        told = [one for one in told if one[0] != "congestion-control"]
    return Condition(facts, told)


def _findings(facts: dict[str, str], load: noise.Noise) -> list[tuple[str, str]]:
    """What is wrong with each of the facts; an empty text where nothing is."""
    governors, turbo, clock = facts["governor"], facts["turbo"], facts["clocksource"]
    congestion, pinning_of = facts.get("congestion control", "cubic"), facts.get("pinning", "")
    stolen, swap = facts["stolen since boot"], facts["swap used"]
    return [
        ("other-load", f"other processes took {_percent(load.others)} of a second" * (load.others > noise.SHARE)),
        ("hidden-load", "its PID namespace is not the first one" * (facts["processes"] != EVERY)),
        ("frequency-scaling", f"the governor is {governors}" * (governors not in ("performance", UNKNOWN))),
        ("turbo", "it is on" * (turbo == "on")),
        ("stolen-time", f"{stolen} of the time since it booted" * (_share(stolen) > STOLEN)),
        ("virtualised", facts["virtualised"] * (facts["virtualised"] != "no")),
        ("clocksource", f"it is {clock}" * (clock not in ("tsc", UNKNOWN))),
        ("congestion-control", f"it is {congestion}" * (congestion not in ("cubic", UNKNOWN))),
        ("swapping", f"{swap} are swapped out" * (swap not in ("0 MiB", UNKNOWN))),
        ("not-pinned", pinning_of.removeprefix(NOT_PINNED) * pinning_of.startswith(NOT_PINNED)),
    ]


EVERY = "all of the machine are seen"

FIRST = "pid:[4026531836]"
"""The machine's first PID namespace: PROC_PID_INIT_INO of include/linux/proc_ns.h."""

NOT_PINNED = "not pinned: "

UNKNOWN = "not shown"
"""What a fact is that this machine does not show: a virtual one has no frequency of its own."""


def _seen() -> str:
    """Whether the processes of others are seen."""
    try:
        return EVERY if str((noise.PROC / "self/ns/pid").readlink()) == FIRST else "those of a container are seen"
    except OSError:
        return EVERY


def _processors() -> dict[str, str]:
    """Frequency and turbo: Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst."""
    governors = {_sys(path) for path in noise.SYS.glob("devices/system/cpu/cpu*/cpufreq/scaling_governor")}
    stopped = _sys(noise.SYS / "devices/system/cpu/intel_pstate/no_turbo")
    boost = _sys(noise.SYS / "devices/system/cpu/cpufreq/boost")
    turbo = {"0": "on", "1": "off"}.get(stopped) or {"1": "on", "0": "off"}.get(boost, UNKNOWN)
    return {"governor": ", ".join(sorted(governors)) or UNKNOWN, "turbo": turbo}


def _system() -> dict[str, str]:
    """Clock, hypervisor, what it took, and swap."""
    clock = _sys(noise.SYS / "devices/system/clocksource/clocksource0/current_clocksource")
    whole = times(shown(noise.PROC / "stat")).get("cpu", {})
    sizes = dict(re.findall(r"^(Swap\w+):\s*(\d+) kB$", shown(noise.PROC / "meminfo"), re.MULTILINE))
    used = (int(sizes.get("SwapTotal", 0)) - int(sizes.get("SwapFree", 0))) >> 10
    return {
        "clocksource": clock or UNKNOWN,
        "virtualised": _hypervisor(),
        "stolen since boot": _percent(whole.get("steal", 0.0) / max(1e-9, sum(whole.values()))),
        "swap used": f"{used} MiB" if sizes else UNKNOWN,
    }


def _hypervisor() -> str:
    """By the same signs as systemd-detect-virt(1): what Xen shows, what firmware says, and a flag of the processor."""
    kind = _sys(noise.SYS / "hypervisor/type")
    if not (noise.virtual() or kind):
        return "no"
    firmware = [_sys(noise.SYS / "class/dmi/id" / name) for name in ("sys_vendor", "product_name")]
    return kind or " ".join(word for word in firmware if word) or "by a hypervisor that does not say its name"


def _network() -> dict[str, str]:
    """What nodes have of this kernel: TCP's default, and the offloads of a veth."""
    congestion = _sys(noise.PROC / "sys/net/ipv4/tcp_congestion_control")
    return {"congestion control": congestion or UNKNOWN, "offloads of veth": _offloads()}


def _offloads() -> str:
    """Those that a link of the lab has, of those that matter for throughput, as ethtool shows them."""
    if not (shutil.which("unshare") and shutil.which("ethtool")):
        return UNKNOWN
    look = "ip link add probe type veth && ethtool -k probe"
    printed = subprocess.run(["unshare", "--net", "sh", "-c", look], capture_output=True, text=True).stdout
    on = re.findall(r"^(\S+): on", printed, re.MULTILINE)
    return ", ".join(name for name in OFFLOADS.values() if name in on) or "none" if printed else UNKNOWN


def _pinning(shards: Sequence[Shard], cores: set[int]) -> str:
    """Whether the nodes of every shard have cores of their own, and if not, how many of each there are."""
    most: list[str] = []
    for layout, stack in {(shard.layout, shard.stack) for shard in shards}:
        under = underlay.of(stack.underlay, layout.topology, roles=stack.roles)
        most = max(most, under.passed, key=len)
    if pinning.pins(most, cores):
        return "each node has a core of its own"
    return f"{NOT_PINNED}{len(cores)} cores for {len(most)} nodes and one for everything else"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _share(percent: str) -> float:
    return float(percent.removesuffix(" %")) / 100


def _sys(path: Any) -> str:
    return shown(path).strip()
