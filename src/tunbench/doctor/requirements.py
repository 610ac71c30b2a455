"""What this machine lacks for the native lab: one list of reasons a stack, profile, tuning and workload."""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tunbench.plan.axes.profile import Profile
from tunbench.plan.axes.reader import AxisValue
from tunbench.plan.axes.stack import Stack
from tunbench.plan.axes.tuning import Tuning
from tunbench.plan.shard import Shard
from tunbench.runner import stack
from tunbench.runner.declare.netem_terms import Terms
from tunbench.runner.declare.tools import HOLDS
from tunbench.runner.invocation import Invocation
from tunbench.runner.network import netem_command, tuning, underlay
from tunbench.runner.workloads.shared import congestion_control
from tunbench.toolbox.tools import TOOLS

APT = "apt-get install "


class Lack(NamedTuple):
    """Something that is not there, and the mend; what several need may be one and the same."""

    what: str
    mend: str


ROOT = Lack("root", "run it with sudo")

PROGRAMS = ("ip", "mount", "nsenter", "setpriv", "sh", "sleep", "sysctl", "tcpdump", "unshare")
"""What the lab itself runs."""

PROBE_TIMEOUT = 10.0
"""Seconds in which a probe must have ended."""

OVER = "local 127.0.0.1 remote 127.0.0.2"
OVER6 = "local ::1 remote ::2"
ON = "ip link add under type veth && ip link add probe link under type"
UP = "ip link set lo up"
LOAD = "modprobe -aq 2>/dev/null"
"""Before modules that the kernel does not load when they are asked for: whoever uses them loads them, too."""
ESP = "proto esp spi 1 mode transport aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128"

PROBES = {
    "esp4": f"ip xfrm state add src 127.0.0.1 dst 127.0.0.2 {ESP}",
    "esp6": f"ip xfrm state add src ::1 dst ::2 {ESP}",
    "fou": f"{LOAD} fou fou6; ip fou add port 5555 ipproto 4",
    "fou6": f"{LOAD} fou fou6; ip -6 fou add port 5555 ipproto 4",
    "geneve": "ip link add probe type geneve id 1 remote 127.0.0.1",
    "ip6_gre": f"ip link add probe type ip6gre {OVER6}",
    "ip6_tunnel": f"ip link add probe type ip6tnl mode any {OVER6}",
    "ip6_vti": f"ip link add probe type vti6 {OVER6} key 1",
    "ip_gre": f"ip link add probe type gre {OVER}",
    "ip_vti": f"ip link add probe type vti {OVER} key 1",
    "ipip": f"ip link add probe type ipip {OVER}",
    "ipvlan": f"{ON} ipvlan",
    "l2tp_ip": f"{UP} && ip l2tp add tunnel tunnel_id 1 peer_tunnel_id 1 encap ip {OVER}",
    "l2tp_ip6": f"{UP} && ip l2tp add tunnel tunnel_id 1 peer_tunnel_id 1 encap ip {OVER6}",
    "l2tp_netlink": "ip l2tp show tunnel",
    "macsec": f"{ON} macsec",
    "macvlan": f"{ON} macvlan",
    # Read only: a shell that may write would leave a file where there is no device.
    "ppp_async": f"{LOAD} ppp_generic; : </dev/ppp",
    "sit": f"ip link add probe type sit {OVER}",
    "tcp_bbr": f"sysctl -qw {tuning.CONGESTION}=bbr",
    "tun": "ip tuntap add probe mode tun",
    "vxlan": "ip link add probe type vxlan id 1 dstport 4789",
    "wireguard": "ip link add probe type wireguard",
    "xfrm_interface": "ip link add under type veth && ip link add probe type xfrm dev under if_id 1",
}
"""By the kernel's module: what shows, in a network namespace that vanishes at once, whether this kernel has it. What
has no probe is not looked for."""

OVER_IPV6 = {"ip6_gre", "ip6_tunnel", "ip6_vti", "esp6", "fou6", "l2tp_ip6"}
OVER_IPV4 = {"ip_gre", "ipip", "sit", "ip_vti", "esp4", "l2tp_ip"}
"""Modules that a tunnel needs over one address family alone."""

PACKAGES = {
    "certutil": "libnss3-tools",
    "ip": "iproute2",
    "ipsec": "libreswan",
    "modprobe": "kmod",
    "mosquitto_passwd": "mosquitto",
    "nebula-cert": "nebula",
    "nft": "nftables",
    "nginx": "nginx-light",
    "nsenter": "util-linux",
    "pgrep": "procps",
    "ping": "iputils-ping",
    "pk12util": "libnss3-tools",
    "pppd": "ppp",
    "pptp": "pptp-linux",
    "scp": "openssh-client",
    "setpriv": "util-linux",
    "sha256sum": "coreutils",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "swanctl": "strongswan-swanctl",
    "sysctl": "procps",
    "tc": "iproute2",
    "tincd": "tinc",
    "unshare": "util-linux",
    "wg": "wireguard-tools",
    "wpa_supplicant": "wpasupplicant",
}
"""Debian's package of a program, where it has another name."""


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
    return _programs(PROGRAMS)


def of_stack(one: Stack, files: Mapping[str, str | None] = MappingProxyType({})) -> list[Lack]:
    """What the layers of a stack lack: programs, and modules of the kernel. Raises ValueError.

    `files` are those of brought programs, None where one is not at hand.
    """
    pile = stack.build(one.name, underlay.UNDERLAYS[one.underlay].endpoints)
    found: list[Lack] = []
    for layer in pile.layers:
        found += _programs(layer.declared.programs)
        found += [
            Lack(f"the program {name}", f"tunbench run … --tool {name}=FILE")
            for name in layer.declared.brought
            if not (files.get(name) or shutil.which(name))
        ]
        found += [lack for module in over(layer.declared.modules, layer.context.outer) for lack in _module(module)]
    return list(dict.fromkeys(found))


def of_profile(profile: Profile) -> list[Lack]:
    """What a profile's impairments lack."""
    directions = [terms for terms in (profile.forward, profile.reverse) if netem_command.acts(terms)]
    return list(dict.fromkeys(lack for terms in directions for lack in of_impairment(terms)))


def of_impairment(terms: Terms) -> list[Lack]:
    """What these terms of netem lack: they are installed once, on a loopback interface of their own."""
    words = " ".join(netem_command.arguments(terms))
    refusal = _programs(["tc"]) or tried(f"tc qdisc add dev lo root netem {words}")
    if not isinstance(refusal, str):
        return refusal
    return [Lack(f"the kernel's netem ({refusal})", "a kernel with the module sch_netem")] if refusal else []


def of_tuning(one: Tuning) -> list[Lack]:
    """What a tuning lacks: sysctls that a network namespace has of its own, congestion control, ethtool."""
    found = [
        Lack(f"the sysctl {name} of a network namespace's own", "take it out of the tuning")
        for name in one.sysctl
        if tried(f"test -w /proc/sys/{name.translate(str.maketrans('./', '/.'))} || {{ echo no >&2; false; }}")
    ]
    return [*found, *_congestion(one.congestion), *(_programs(["ethtool"]) if one.offloads else [])]


def of_workload(what: Invocation) -> list[Lack]:
    """What a workload lacks: programs, and the congestion control that it names."""
    algorithm = str(what.options.get("congestion", congestion_control.DEFAULT))
    return [
        *_programs(what.module.ABOUT.programs),
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


def over(modules: Iterable[str], family: int) -> list[str]:
    """Those of the modules that a tunnel needs over an address family, 4 or 6."""
    others = OVER_IPV4 if family == 6 else OVER_IPV6
    return [module for module in modules if module not in others]


def _module(module: str) -> list[Lack]:
    refusal = tried(PROBES[module]) if module in PROBES else ""
    return [Lack(f"the kernel's {module} ({refusal})", f"a kernel with the module {module}")] if refusal else []


def _congestion(algorithm: str) -> list[Lack]:
    refusal = tried(f"sysctl -qw {tuning.CONGESTION}={algorithm}") if algorithm else ""
    what = Lack(f"the kernel's congestion control {algorithm}", f"a kernel with the module tcp_{algorithm}")
    return [what] if refusal else []


def _programs(programs: Iterable[str]) -> list[Lack]:
    """Those of the programs that are neither on PATH nor in an installed tool of the toolbox."""
    return [Lack(f"the program {name}", _mend(name)) for name in programs if not shutil.which(name) and not _held(name)]


def _holder(program: str) -> str:
    """The tool of the toolbox that holds a program; empty where none does."""
    return next((name for name, programs in HOLDS.items() if program in programs), "")


def _held(program: str) -> bool:
    tool = _holder(program)
    return bool(tool) and TOOLS[tool].installed


def _mend(program: str) -> str:
    """The command that installs a program."""
    tool = _holder(program)
    return TOOLS[tool].build if tool else APT + PACKAGES.get(program, program)
