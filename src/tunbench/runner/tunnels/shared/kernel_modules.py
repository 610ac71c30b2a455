"""Modules of the kernel that several tunnels need."""

from tunbench.runner.declare.kernel_module import Module

OVER_IPV4 = "local 127.0.0.1 remote 127.0.0.2"
OVER_IPV6 = "local ::1 remote ::2"
"""Words that give a probe's interface two addresses."""

LOAD = "modprobe -aq 2>/dev/null"
"""Before modules that the kernel does not load when they are asked for: whoever uses them loads them, too."""

TUN = Module("tun", "ip tuntap add probe mode tun")

IPIP = Module("ipip", f"ip link add probe type ipip {OVER_IPV4}", outer=(4,), fallback_devices=("tunl0",))
SIT = Module("sit", f"ip link add probe type sit {OVER_IPV4}", outer=(4,), fallback_devices=("sit0",))
IP6_TUNNEL = Module(
    "ip6_tunnel", f"ip link add probe type ip6tnl mode any {OVER_IPV6}", outer=(6,), fallback_devices=("ip6tnl0",)
)

GRE = (
    Module(
        "ip_gre",
        f"ip link add probe type gre {OVER_IPV4}",
        outer=(4,),
        fallback_devices=("gre0", "gretap0", "erspan0"),
    ),
    Module(
        "ip6_gre",
        f"ip link add probe type ip6gre {OVER_IPV6}",
        outer=(6,),
        fallback_devices=("ip6gre0", "ip6gretap0", "ip6erspan0", *IP6_TUNNEL.fallback_devices),
    ),
)

IP_IN_IP = (IPIP, SIT, IP6_TUNNEL)


def ip_in_ip(inner: int) -> tuple[Module, ...]:
    """The modules for IP packets of that family in IP packets: over IPv4, and over IPv6."""
    return ({4: IPIP, 6: SIT}[inner], IP6_TUNNEL)


FOO_OVER_UDP = (
    Module("fou", f"{LOAD} fou fou6; ip fou add port 5555 ipproto 4"),
    Module("fou6", f"{LOAD} fou fou6; ip -6 fou add port 5555 ipproto 4", outer=(6,)),
)

FOU = (*FOO_OVER_UDP, *IP_IN_IP)
"""What takes packets out of UDP, and then handles them as IP in IP."""


def fou(inner: int) -> tuple[Module, ...]:
    """The same for IP packets of that family."""
    return (*FOO_OVER_UDP, *ip_in_ip(inner))


def on_ethernet(kind: str) -> Module:
    """The module of a kind of interface that stands on an Ethernet interface."""
    return Module(kind, f"ip link add under type veth && ip link add probe link under type {kind}")
