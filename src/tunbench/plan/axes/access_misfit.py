"""Which accesses cannot stand before the nodes of a plan, with the mend: what stacks, topologies and links rule out."""

from collections.abc import Sequence

from tunbench.plan.axes.link import BUNDLES_ARE_POLICED
from tunbench.plan.axes.stack import BARE_ON, PlannedStack
from tunbench.plan.axes.topology import Layout
from tunbench.plan.toml.mistakes import or_exclude
from tunbench.runner.declare.access import FAMILIES, NAT64, NONE, ONLY_RELAY, Access, Accesses
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.overlay import FAMILIES as OUTER
from tunbench.runner.declare.overlay import SMALLEST_MTU
from tunbench.runner.declare.packet_format import TCP, UDP
from tunbench.runner.declare.topology import CONTROL, RELAY
from tunbench.runner.declare.tunnel import BARE


def unknown_node(accesses: Accesses, layout: Layout) -> str:
    """What is wrong where a node has an access that a topology has not; empty where nothing is."""
    nodes = [*layout.topology.endpoints, CONTROL, RELAY]
    strange = next((name for name in accesses.own if name not in nodes), None)
    if strange is None:
        return ""
    return f'there is no node "{strange}" in {layout.name}{nearest(strange, nodes)}'


def lacking_role(accesses: Accesses, stacks: Sequence[PlannedStack]) -> str:
    """The role that an access is of and that none of these stacks has a node for; empty where there is none."""
    roles = {role for stack in stacks for role in stack.roles}
    return next((name for name in accesses.own if name in (CONTROL, RELAY) and name not in roles), "")


def misfit(accesses: Accesses, stack: PlannedStack, layout: Layout) -> str:
    """Why a stack cannot come up behind these accesses, with the mend; empty where a plan cannot tell."""
    mend = f"take one of them away{or_exclude(access=accesses.name, stack=stack.name)}"
    if stack.underlay == "ethernet":
        return f"{stack.name} needs Ethernet between its endpoints, and a gateway passes IP packets: {mend}"
    family = 6 if stack.underlay == "ip6" else 4
    return (
        _of_other_family(accesses, stack, layout, family, mend)
        or _narrow(accesses, stack, layout, family)
        or _untranslated(accesses, stack, layout, family, mend)
        or _shut_out(accesses, stack, layout, mend)
        or _closed(accesses, stack, family, mend)
    )


def _of_other_family(accesses: Accesses, stack: PlannedStack, layout: Layout, family: int, mend: str) -> str:
    """What is wrong where an access carries no packets of the underlay's family."""
    strange = next((one for one in _before(accesses, stack, layout) if family not in FAMILIES[one.family]), None)
    if not strange:
        return ""
    [other] = FAMILIES[strange.family]
    lowest, [spelled] = stack.layers[0], [text for text, number in OUTER.items() if number == other]
    if lowest.part.name == BARE:
        how = f"write {BARE_ON['ip6'] if other == 6 else BARE}, "
    else:
        how = f"give its lowest layer outer={spelled}, " if other in lowest.about.outer else ""
    return f'{stack.name} runs over IPv{family}, and "{strange.name}" carries IPv{other} alone: {how}{mend}'


def _before(accesses: Accesses, stack: PlannedStack, layout: Layout) -> list[Access]:
    """The accesses of all nodes that a stack needs."""
    return [*accesses.of_endpoints(layout.topology.endpoints), *filter(None, map(accesses.of_role, stack.roles))]


def _narrow(accesses: Accesses, stack: PlannedStack, layout: Layout, family: int) -> str:
    """What is wrong where a link behind a gateway carries no packets of the family that passes it."""
    there = _before(accesses, stack, layout)
    of = {one.name: SMALLEST_MTU[6 if one.translates_family(family) else family] for one in there}
    narrow = next((one for one in there if one.link.mtu < of[one.name]), None)
    if not narrow:
        return ""
    least = of[narrow.name]
    return (
        f'"{stack.name}" needs an underlay MTU of {least} bytes, and the link of "{narrow.name}" has '
        f"{narrow.link.mtu}: give it a larger mtu"
    )


def _untranslated(accesses: Accesses, stack: PlannedStack, layout: Layout, family: int, mend: str) -> str:
    """What is wrong where a translator between IPv4 and IPv6 does not pass what a stack sends, or a host behind it."""
    one = next((one for one in _before(accesses, stack, layout) if one.translates_family(family)), None)
    if not one:
        return ""
    lowest = stack.layers[0]
    if lowest.about.name == BARE and layout.topology.hosts:
        return (
            f'"{one.name}" translates the address of the endpoint alone ({NAT64}), and without a tunnel none of a host '
            f"behind it: {mend}"
        )
    if one.nat == "one-to-one" or lowest.about.name == BARE or lowest.about.headers[:1] in ((UDP,), (TCP,)):
        return ""
    how = f"write {lowest.part.name}:encap=on, " if "encap" in lowest.options else ""
    return (
        f'{stack.name} sends packets without ports, and "{one.name}" translates TCP, UDP and ICMP alone ({NAT64}, RFC '
        f'6146): {how}give it nat = "one-to-one", {mend}'
    )


def _shut_out(accesses: Accesses, stack: PlannedStack, layout: Layout, mend: str) -> str:
    """What is wrong where a firewall before an endpoint drops what that sends to the control plane."""
    alone = next((one for one in accesses.of_endpoints(layout.topology.endpoints) if one.firewall == ONLY_RELAY), None)
    if alone and not stack.roles:
        return (
            f'"{alone.name}" lets out what is for the nodes control and relay alone ({ONLY_RELAY}), and '
            f"{stack.name} has neither: {mend}"
        )
    lowest = stack.layers[0]
    for traffic in (one.format(**lowest.options) for one in lowest.about.control):
        for one in accesses.of_endpoints(layout.topology.endpoints):
            if not one.lets_out(traffic):
                return (
                    f'{stack.name} reaches its control plane by {traffic}, which "{one.name}" drops ({one.firewall}): '
                    f'{mend}, or ask for it by firewall = {{ deny = ["{traffic}"] }}'
                )
    return ""


def _closed(accesses: Accesses, stack: PlannedStack, family: int, mend: str) -> str:
    """What is wrong where others do not reach a node with a role by the address on which it listens."""
    for role in (CONTROL, RELAY):
        one = accesses.of_role(role) if role in stack.roles else None
        if one and not (one.lets_in(family) and (family == 6 or one.nat == NONE)):
            return (
                f'{stack.name} has its node {role} behind "{one.name}", and others do not reach it by the address on '
                f'which it listens: {mend}, or give it one without nat and with firewall = "open"'
            )
    return ""


def bundles(accesses: Accesses, outer: Link) -> str:
    """What is wrong where an access polices what comes uncut through the link before it; empty where nothing is."""
    one = next((one for one in accesses.all if one.link.polices), None)
    if not one or outer.cuts:
        return ""
    return (
        f'{BUNDLES_ARE_POLICED}: "{one.name}" has a policer, and "{outer.name}" cuts nothing before it; take one '
        f"of them away{or_exclude(access=accesses.name, link=outer.name)}"
    )
