"""Examines this machine: can it run the labs, and each stack in namespaces of its own kernel?"""

import os
import shutil
import subprocess
from typing import NamedTuple

from tunbench.labs import image, kvm
from tunbench.labs.definition import BASE
from tunbench.labs.vm import QEMU
from tunbench.runner import registry
from tunbench.runner.contract import Tunnel
from tunbench.runner.options import resolve
from tunbench.runner.tools import HOLDS
from tunbench.toolbox import brought
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import TOOLS, Tool


class Finding(NamedTuple):
    """One thing that was looked for; `needed` by the vm lab on the virtual clock."""

    what: str
    ok: bool
    found: str
    mend: str = ""
    needed: bool = False


OVER = "local 127.0.0.1 remote 127.0.0.2"
ON = "ip link add under type veth && ip link add probe link under type"

PROBES = {
    "wireguard": ("ip link add probe type wireguard", "wireguard"),
    "ipip": (f"ip link add probe type ipip {OVER}", "ipip"),
    "gre": (f"ip link add probe type gre {OVER}", "ip_gre"),
    "gretap": (f"ip link add probe type gretap {OVER}", "ip_gre"),
    "fou and gue": ("ip fou add port 5555 ipproto 4", "fou"),
    "geneve": ("ip link add probe type geneve id 1 remote 127.0.0.1", "geneve"),
    "vxlan": ("ip link add probe type vxlan id 1 dstport 4789", "vxlan"),
    "l2tpv3": (f"ip l2tp add tunnel tunnel_id 1 peer_tunnel_id 1 encap ip {OVER}", "l2tp_ip"),
    "macvlan": (f"{ON} macvlan", "macvlan"),
    "ipvlan": (f"{ON} ipvlan", "ipvlan"),
    "macsec": (f"{ON} macsec", "macsec"),
    "ipsec:mode=vti": (f"ip link add probe type vti {OVER}", "ip_vti"),
    "ipsec:mode=xfrm": ("ip link add probe type xfrm dev lo if_id 1", "xfrm_interface"),
    "netem": ("tc qdisc add dev lo root netem delay 1ms", "sch_netem"),
}
"""What shows, in a network namespace that vanishes at once, whether this kernel can do it natively."""


def findings() -> list[Finding]:
    """All that was found."""
    return [_qemu(), _image(), _clock(), *_toolbox(), *_native()]


def _toolbox() -> list[Finding]:
    return [*(_tool(tool) for tool in TOOLS.values()), *(_brought(program) for program in sorted(brought.known()))]


def _tool(tool: Tool) -> Finding:
    found = f"{tool.version}, {', '.join(tool.programs)}" if tool.installed else "not installed"
    return Finding(f"toolbox: {tool.name}", tool.installed, found, "" if tool.installed else tool.build)


def _brought(program: str) -> Finding:
    try:
        file = brought.found([program], {}).get(program)
    except ToolError as error:
        return Finding(f"toolbox: {program}", False, str(error), f"mend {brought.config_file()}")
    mend = "" if file else f"tunbench run … --tool {program}=FILE"
    return Finding(f"toolbox: {program}", bool(file), file or "not on PATH", mend)


def _qemu() -> Finding:
    found = shutil.which(QEMU)
    return Finding(
        "vm lab: QEMU", bool(found), found or "not installed", "" if found else "apt-get install qemu-system-x86", True
    )


def _image() -> Finding:
    try:
        manifest = image.check(BASE)
    except image.ImageError as error:
        return Finding("vm lab: image", False, str(error), "tunbench lab build", True)
    return Finding(
        "vm lab: image", True, f"{manifest['digest'][:12]}, {len(manifest['packages'])} packages", needed=True
    )


def _clock() -> Finding:
    if not shutil.which(QEMU) or not (BASE.folder / "vmlinux").exists():
        return Finding("vm lab: real clock", False, "not tried", "first mend what is above")
    how = (
        "KVM boots the lab's kernel"
        if kvm.works()
        else "KVM does not boot the lab's kernel here: TCG with several threads"
    )
    return Finding("vm lab: real clock", True, how)


def _native() -> list[Finding]:
    if os.geteuid() != 0:
        return [Finding("native lab", False, "needs root", "run it with sudo")]
    rows = [_native_program(program) for program in _programs()]
    return rows + [_native_kind(name, *probe) for name, probe in PROBES.items()]


def _programs() -> list[str]:
    tunnels = {program for name in registry.tunnel_names() for program in _programs_of(registry.tunnel(name))}
    workloads = {program for name in registry.workload_names() for program in registry.workload(name).ABOUT.programs}
    return sorted(tunnels | workloads | {"ip", "tcpdump", "unshare", "nsenter"})


def _programs_of(kind: type[Tunnel]) -> set[str]:
    """The programs of a tunnel, whatever its options choose."""
    given = [{name: choice} for name, option in kind.takes().items() for choice in option.choices]
    programs: set[str] = set()
    for options in [{}, *given]:
        try:
            programs.update(kind.with_options(resolve(kind.takes(), options, kind.about.name)).programs)
        except ValueError:
            continue
    return programs


PACKAGES = {
    "certutil": "libnss3-tools",
    "ip": "iproute2",
    "ipsec": "libreswan",
    "modprobe": "kmod",
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
    "sha256sum": "coreutils",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "swanctl": "strongswan-swanctl",
    "tincd": "tinc",
    "unshare": "util-linux",
    "wg": "wireguard-tools",
    "wpa_supplicant": "wpasupplicant",
}
"""Debian's package of a program, where it has another name."""


def _native_program(program: str) -> Finding:
    holders = [TOOLS[name] for name, programs in HOLDS.items() if program in programs]
    found = shutil.which(program) or next((f"{tool.folder}/bin/{program}" for tool in holders if tool.installed), None)
    mend = holders[0].build if holders else f"apt-get install {PACKAGES.get(program, program)}"
    return Finding(f"native lab: {program}", bool(found), found or "not installed", "" if found else mend)


def _native_kind(name: str, probe: str, module: str) -> Finding:
    if not shutil.which("unshare"):
        return Finding(f"native lab: {name}", False, "cannot be tried without unshare", "apt-get install util-linux")
    done = subprocess.run(["unshare", "--net", "sh", "-c", probe], capture_output=True, text=True)
    if done.returncode == 0:
        return Finding(f"native lab: {name}", True, "this kernel has it")
    return Finding(
        f"native lab: {name}",
        False,
        (done.stderr.strip() or f"status {done.returncode}").splitlines()[0],
        f"a kernel with the module {module}; or --lab vm",
    )
