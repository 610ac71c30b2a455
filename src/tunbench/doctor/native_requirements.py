"""What this machine lacks for the native lab: reasons for each stack, profile, link, access, tuning and workload."""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tunbench.plan.axes.profile import Profile
from tunbench.plan.axes.reader import AxisValue
from tunbench.plan.axes.stack import PlannedStack
from tunbench.plan.axes.tuning import Tuning
from tunbench.plan.shard import Shard
from tunbench.runner import stack
from tunbench.runner.declare.access import NONE, Accesses
from tunbench.runner.declare.kernel_module import Module, over
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.netem_terms import Terms
from tunbench.runner.invocation import Invocation
from tunbench.runner.network import netem_command, tuning, underlay
from tunbench.runner.network.wires import NEGLIGIBLE_DELAY_SECONDS
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.shared import kernel_modules
from tunbench.runner.workloads.shared import congestion_control
from tunbench.toolbox import brought_programs
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import TOOLS

APT = "apt-get install "


class Lack(NamedTuple):
    """Something that is not there, and the mend; what several need may be one and the same."""

    what: str
    mend: str


ROOT = Lack("root", "run it with sudo")

LAB_PROGRAMS = {
    "ip": "iproute2",
    "mount": "mount",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "sh": "dash",
    "sleep": "coreutils",
    "sysctl": "procps",
    "tcpdump": "tcpdump",
    "unshare": "util-linux",
}
"""What the lab itself runs, each with Debian's package of it."""

ROOT_QDISC = "tc qdisc add dev lo root "

SHAPERS = {
    "tbf": (ROOT_QDISC + "tbf rate 1mbit burst 1514 limit 3000", "sch_tbf"),
    "fq_codel": (ROOT_QDISC + "fq_codel", "sch_fq_codel"),
    "cake": (ROOT_QDISC + "cake bandwidth 1mbit", "sch_cake"),
    "police": (
        "tc qdisc add dev lo clsact && tc filter add dev lo ingress matchall "
        "action police rate 1mbit burst 1514 conform-exceed drop/continue",
        "act_police",
    ),
}
"""What keeps the rate of links: how the shell tries it, and the module of the kernel."""

SHAPERS_OF_QUEUES = {"fifo": ("tbf",), "fq_codel": ("tbf", "fq_codel"), "cake": ("cake",), "policer": ("police",)}

TC_PROGRAMS = {"tc": "iproute2"}

GATEWAY_PROGRAMS = {"nft": "nftables"}

PORTMAP_PROGRAMS = {"miniupnpd": "miniupnpd-nftables"}

TRANSLATION_PROGRAMS = {"tayga": "tayga"}

LINK_PROGRAMS = {"ethtool": "ethtool"}

PROBE_TIMEOUT = 10.0
"""Seconds in which a probe must have ended."""


def of_plan(shards: Iterable[Shard], files: Mapping[str, str | None]) -> list[Lack]:
    """What these shards lack, each once; `files` are those of brought programs."""
    if missing := of_lab():
        return missing
    shards = list(shards)

    def each(examine: Callable[[Any], Iterable[Lack]], values: Iterable[AxisValue]) -> Iterator[Lack]:
        for value in {value.name: value for value in values}.values():
            yield from examine(value)

    found = [
        *each(lambda one: of_stack(one, files), (shard.stack for shard in shards)),
        *each(of_profile, (shard.profile for shard in shards)),
        *each(of_link, (shard.link for shard in shards)),
        *each(of_accesses, (shard.access for shard in shards)),
        *each(of_tuning, (shard.tuning for shard in shards)),
        *each(lambda one: of_workload(one.invocation), (one for shard in shards for one in shard.workloads)),
        *(
            Lack(f"the model machine {shard.machine.name}", "take it out of the plan")
            for shard in shards
            if not shard.machine.full
        ),
    ]
    return list(dict.fromkeys(found))


def of_lab() -> list[Lack]:
    """What the lab itself lacks, whatever is run in it."""
    if os.geteuid() != 0:
        return [ROOT]
    return _programs(LAB_PROGRAMS)


def of_stack(one: PlannedStack, files: Mapping[str, str | None] = MappingProxyType({})) -> list[Lack]:
    """What the layers of a stack lack: programs, and modules of the kernel. Raises ValueError.

    `files` are those of brought programs, None where one is not at hand.
    """
    found: list[Lack] = []
    for layer in layers_of(one):
        needs, packages = layer.declared.needs, layer.declared.sources.packages
        found += _programs({name: packages.get(name, name) for name in needs.programs if not files.get(name)})
        found += [
            Lack(f"the program {name}", brought_programs.bring(name))
            for name in needs.brought
            if not (files.get(name) or shutil.which(name))
        ]
        theirs = {name: file for name in (*needs.programs, *needs.brought) if (file := files.get(name))}
        found += [lack for name, file in theirs.items() for lack in _unusable(name, file)]
        found += [lack for module in over(needs.modules, layer.context.outer) for lack in _module(module)]
    return list(dict.fromkeys(found))


def _unusable(name: str, file: str) -> list[Lack]:
    """A program whose file is named and cannot be used: no other takes its place."""
    try:
        brought_programs.check_usable(name, file)
    except ToolError:
        return [Lack(f"the program {name} ({file} cannot be used)", brought_programs.bring(name))]
    return []


def mends(missing: Iterable[Lack]) -> str:
    """The mends, each once; packages that are to be installed in one command."""
    each = dict.fromkeys(one.mend for one in missing)
    packages = [mend.removeprefix(APT) for mend in each if mend.startswith(APT)]
    return "; ".join([*([APT + " ".join(packages)] if packages else []), *(m for m in each if not m.startswith(APT))])


def layers_of(one: PlannedStack) -> Sequence[Tunnel]:
    """The layers of a stack between two endpoints, each with what it declares there. Raises ValueError."""
    return stack.build(one.name, underlay.PAIR_UNDERLAYS[one.underlay].endpoints).layers


def of_profile(profile: Profile) -> list[Lack]:
    """What a profile's impairments lack."""
    directions = [terms for terms in (profile.forward, profile.reverse) if netem_command.acts(terms)]
    return list(dict.fromkeys(lack for terms in directions for lack in of_impairment(terms)))


def of_impairment(terms: Terms) -> list[Lack]:
    """What these terms of netem lack: they are installed once, on a loopback interface of their own."""
    return _in_kernel("netem", f"{ROOT_QDISC}netem {' '.join(netem_command.arguments(terms))}", "sch_netem")


def _in_kernel(kind: str, command: str, module: str) -> list[Lack]:
    if missing := _programs(TC_PROGRAMS):
        return missing
    refusal = tried(command)
    return [Lack(f"the kernel's {kind} ({refusal})", f"a kernel with the module {module}")] if refusal else []


def of_link(one: Link) -> list[Lack]:
    """What a link lacks: ethtool to cut, the kernel's tbf for a rate, its netem for a delay that is of any weight."""
    found = _programs(LINK_PROGRAMS) if one.cuts else []
    for queue in dict.fromkeys(way.queue for way in (one.up, one.down) if way.rate):
        found += [lack for kind in SHAPERS_OF_QUEUES[queue] for lack in _in_kernel(kind, *SHAPERS[kind])]
    is_narrow = any(one.is_narrow(way) for way in (one.up, one.down))
    return [*found, *(_delaying() if is_narrow else _of_delay(one.crossing_delay))]


def of_accesses(accesses: Accesses) -> list[Lack]:
    """What gateways lack: nft for their rules, and what their links do."""
    found = _programs(GATEWAY_PROGRAMS) if accesses.all else []
    if any(one.portmap != NONE for one in accesses.all):
        found += _programs(PORTMAP_PROGRAMS)
    if accesses.translate_families:
        found += [*_programs(TRANSLATION_PROGRAMS), *_module(kernel_modules.TUN)]
    for one in accesses.all:
        found += [*of_link(one.link), *_of_delay(one.delay)]
    return list(dict.fromkeys(found))


def _of_delay(seconds: float) -> list[Lack]:
    return _delaying() if seconds > NEGLIGIBLE_DELAY_SECONDS else []


def _delaying() -> list[Lack]:
    """What is lacking to hold packets up where they arrive."""
    found = _in_kernel("netem", f"{ROOT_QDISC}netem delay 1ms", "sch_netem")
    # To ask for such an interface would bring the module, and interfaces that nobody wants.
    refusal = tried("test -d /sys/module/ifb || modprobe -n ifb")
    return [*found, *([Lack(f"the kernel's ifb ({refusal})", "a kernel with the module ifb")] if refusal else [])]


def of_tuning(one: Tuning) -> list[Lack]:
    """What a tuning lacks: sysctls that a network namespace has of its own, congestion control."""
    found = [
        Lack(f"the sysctl {name} of a network namespace's own", "take it out of the tuning")
        for name in one.sysctl
        if tried(f"test -w /proc/sys/{name.translate(str.maketrans('./', '/.'))} || {{ echo no >&2; false; }}")
    ]
    return [*found, *_congestion(one.congestion)]


def of_workload(what: Invocation) -> list[Lack]:
    """What a workload lacks: programs, and the congestion control that it names."""
    about = what.module.ABOUT
    of_tcp = congestion_control.OPTION in about.options.values()
    algorithm = str(what.options["congestion"]) if of_tcp else congestion_control.DEFAULT
    return [
        *_programs(about.programs),
        *_programs({name: about.sources.packages.get(name, name) for name in what.needs.programs}),
        *_congestion("" if algorithm == congestion_control.DEFAULT else algorithm),
    ]


@functools.cache
def tried(command: str) -> str:
    """Runs a command of the shell in a network namespace that vanishes with it; why it failed, or an empty text."""
    try:
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT,
        )
    except FileNotFoundError:
        return "cannot be tried without unshare"
    except subprocess.TimeoutExpired:
        return f"no answer within {PROBE_TIMEOUT:g} s"
    return "" if done.returncode == 0 else (done.stderr.strip() or f"status {done.returncode}").splitlines()[0]


def _module(module: Module) -> list[Lack]:
    refusal = tried(module.probe) if module.probe else ""
    what = Lack(f"the kernel's {module.name} ({refusal})", f"a kernel with the module {module.name}")
    return [what] if refusal else []


def _congestion(algorithm: str) -> list[Lack]:
    refusal = tried(f"sysctl -qw {tuning.CONGESTION}={algorithm}") if algorithm else ""
    what = Lack(f"the kernel's congestion control {algorithm}", f"a kernel with the module tcp_{algorithm}")
    return [what] if refusal else []


def _programs(programs: Mapping[str, str]) -> list[Lack]:
    """Those of the programs, each with Debian's package of it, that are neither on PATH nor in an installed tool."""
    found = []
    for program, package in programs.items():
        tool = next((tool for tool in TOOLS.values() if program in tool.programs), None)
        if not (shutil.which(program) or (tool and tool.installed)):
            found.append(Lack(f"the program {program}", tool.build if tool else APT + package))
    return found
