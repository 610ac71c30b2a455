"""The state of the machine before a run on the real clock: what can disturb its numbers, and the mend."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tunbench.labs.real_time import noise
from tunbench.labs.real_time.noise import text_if_there
from tunbench.plan.shard import Shard
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network import underlay
from tunbench.runner.node import pinning
from tunbench.runner.probes.shared.processor_time import times

OFFLOADS = (
    *("rx-checksumming", "tx-checksumming", "scatter-gather"),
    *("tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload"),
)
"""The offloads of an interface that matter for throughput, as `ethtool -k` calls them."""

OBSERVED_SECONDS = 1.0
"""How long other load is looked for before a run."""

MAX_STOLEN_SHARE = 0.001
"""The part of the machine's time since it booted that a hypervisor may have given to others."""

ALL_SEEN = "all of the machine are seen"

FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The machine's first PID namespace: PROC_PID_INIT_INO of include/linux/proc_ns.h."""

NOT_PINNED = "not pinned: "

HOST_STATE = "condition"
"""What journals and manifests call the state of a host."""

UNKNOWN = "not shown"
"""What a fact is that this machine does not show: a virtual one has no frequency of its own."""


class HostState(NamedTuple):
    """Facts of the machine, by what they are called, and what there is to warn of: kinds, each with what was found."""

    facts: dict[str, str]
    warnings: list[tuple[WarningKind, str]]

    @property
    def event(self) -> dict[str, Any]:
        """What the journal is told."""
        return {
            "event": HOST_STATE,
            "facts": self.facts,
            "findings": [[str(kind), text] for kind, text in self.warnings],
        }

    @property
    def lines(self) -> list[str]:
        """One line for each warning, with its mend."""
        return [f"{kind}: {text}. {kind.mend}" for kind, text in self.warnings]


def examine(shards: Sequence[Shard], cores: Iterable[int], nodes_share_kernel: bool) -> HostState:
    """Examines the machine for a second; `cores` are those that the run may use.

    `nodes_share_kernel` says whether nodes have this machine's kernel and cores, or those of a VM.
    """
    with noise.looking() as look:
        before = look()
        time.sleep(OBSERVED_SECONDS)
        load = noise.between(before, look())
    apart = f"{1e6 * load.apart:.2f} µs" if load.apart else UNKNOWN
    facts = {"load of others": _percent(load.others), "processes": _processes_seen(), **_processors(), **_system()}
    facts["to another core and back"] = apart
    facts |= {**_network(), "pinning": _pinning(shards, set(cores))} if nodes_share_kernel else {}
    found = list(_warnings(facts, load))
    if all(shard.tuning.congestion for shard in shards):
        found = [one for one in found if one[0] is not WarningKind.CONGESTION_CONTROL]
    return HostState(facts, found)


def _warnings(facts: dict[str, str], load: noise.Noise) -> Iterator[tuple[WarningKind, str]]:
    """What is wrong with each of the facts."""
    governors, turbo, clock = facts["governor"], facts["turbo"], facts["clocksource"]
    congestion, pinning_of = facts.get("congestion control", "cubic"), facts.get("pinning", "")
    stolen, swap, virtualised = facts["stolen since boot"], facts["swap used"], facts["virtualised"]
    if load.others > noise.NOISY_SHARE:
        yield WarningKind.OTHER_LOAD, f"other processes took {_percent(load.others)} of a second"
    if facts["processes"] != ALL_SEEN:
        yield WarningKind.HIDDEN_LOAD, "its PID namespace is not the first one"
    if governors not in ("performance", UNKNOWN):
        yield WarningKind.FREQUENCY_SCALING, f"the governor is {governors}"
    if turbo == "on":
        yield WarningKind.TURBO, "it is on"
    if _share(stolen) > MAX_STOLEN_SHARE:
        yield WarningKind.STOLEN_TIME, f"{stolen} of the time since it booted"
    if virtualised != "no":
        yield WarningKind.VIRTUALISED, virtualised
    if clock not in ("tsc", UNKNOWN):
        yield WarningKind.CLOCKSOURCE, f"it is {clock}"
    if congestion not in ("cubic", UNKNOWN):
        yield WarningKind.CONGESTION_CONTROL, f"it is {congestion}"
    if swap not in ("0 MiB", UNKNOWN):
        yield WarningKind.SWAPPING, f"{swap} are swapped out"
    if pinning_of.startswith(NOT_PINNED):
        yield WarningKind.NOT_PINNED, pinning_of.removeprefix(NOT_PINNED)


def _processes_seen() -> str:
    """Whether the processes of others are seen."""
    try:
        namespace = str((noise.PROC / "self/ns/pid").readlink())
    except OSError:
        return ALL_SEEN
    return ALL_SEEN if namespace == FIRST_PID_NAMESPACE else "those of a container are seen"


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
    whole = times(text_if_there(noise.PROC / "stat")).get("cpu", {})
    sizes = dict(re.findall(r"^(Swap\w+):\s*(\d+) kB$", text_if_there(noise.PROC / "meminfo"), re.MULTILINE))
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
    if not (noise.under_hypervisor() or kind):
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
    return ", ".join(name for name in OFFLOADS if name in on) or "none" if printed else UNKNOWN


def _pinning(shards: Sequence[Shard], cores: set[int]) -> str:
    """Whether the nodes of every shard have cores of their own, and if not, how many of each there are."""
    most: list[str] = []
    for one in {(shard.layout.name, shard.stack.name, shard.access.name): shard for shard in shards}.values():
        under = underlay.of(one.stack.underlay, one.layout.topology, roles=one.stack.roles, accesses=one.access)
        most = max(most, under.passed, key=len)
    if pinning.pins(most, cores):
        return "each node has a core of its own"
    return f"{NOT_PINNED}{len(cores)} cores for {len(most)} nodes and one for everything else"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _share(percent: str) -> float:
    return float(percent.removesuffix(" %")) / 100


def _sys(path: Any) -> str:
    return text_if_there(path).strip()
