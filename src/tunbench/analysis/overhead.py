"""What a stack adds to a packet, computed from the formats of its layers, beside what was measured."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.journal.record import Record
from tunbench.plan.axes import joining
from tunbench.plan.axes.stack import parse
from tunbench.runner import stack as stacks
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import IP, Format, cut
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.network.underlay import MTU
from tunbench.runner.stack import Stack
from tunbench.runner.workloads import overhead, pmtu
from tunbench.runner.workloads.shared.icmp import packet_size

TCP_HEADER = 20
"""Bytes without options: RFC 9293, section 3.1. The MSS does not count options: RFC 6691, section 2."""


HALF_WINDOW = 65535 // 2
"""Bytes: Linux sends no segment larger than half of its peer's window, which begins below 64 KiB (Linux 6.1,
include/net/tcp.h, tcp_bound_to_half_wnd())."""

OVERHEAD_WORKLOAD = overhead.ABOUT.name

LARGEST_PACKET_WORKLOAD = f"{OVERHEAD_WORKLOAD}:full=on"

LIMITS_WORKLOAD = pmtu.ABOUT.name


class Sizes(NamedTuple):
    """The bytes of one packet: in the overlay, and below each layer, the lowest first.

    Where a packet is cut below a layer, they are those of all its `pieces` together; () is one each.
    """

    packet: int
    below: tuple[int, ...]
    pieces: tuple[int, ...] = ()

    @property
    def added(self) -> tuple[int, ...]:
        """The bytes that each layer adds, the lowest first."""
        above = (*self.below[1:], self.packet)
        return tuple(size - carried for size, carried in zip(self.below, above, strict=True))

    @property
    def total(self) -> int:
        """The bytes that the whole stack adds."""
        return self.below[0] - self.packet

    @property
    def on_the_wire(self) -> int:
        """The packets between the nodes that carry it."""
        return self.pieces[0] if self.pieces else 1


class Limits(NamedTuple):
    """The largest packet that passes unfragmented, and the TCP MSS that results, in bytes."""

    mtu: float
    mss: float


def built(stack: str, mtu: int = MTU) -> Stack:
    """The layers of a stack over its underlay, whose links have that MTU; nothing is started. Raises ValueError."""
    return stacks.build(stack, joining.endpoints(parse(stack).underlay, mtu))


def formats(stack: Stack) -> list[Format]:
    """How each layer builds its packets, the lowest first."""
    return [layer.format(layer.options, layer.context.outer) for layer in stack.layers]


def family(stack: Stack) -> int:
    """The address family of the overlay: 4 or 6."""
    return next(iter(stack.overlay.values())).family


class Passing(NamedTuple):
    """What carries a packet below one layer: the bytes of the layer's own packets, and of what these are cut into."""

    sizes: list[int]
    pieces: list[int]


def passing(stack: Stack, packet: int) -> list[Passing]:
    """What carries a packet that has so many bytes in the overlay, below each layer, the lowest first."""
    below: list[Passing] = []
    pieces = [packet]
    for index, form in reversed(list(enumerate(formats(stack)))):
        mtu = _end(stack.overlays[index + 1]).mtu
        sizes = [form.size(piece, mtu) for piece in pieces]
        pieces = [piece for size in sizes for piece in _cut(stack, index, size)]
        below.insert(0, Passing(sizes, pieces))
    return below


def _cut(stack: Stack, index: int, size: int) -> list[int]:
    """The packets in which one of so many bytes of the layer at that index passes what is below it."""
    below = _end(stack.overlays[index])
    # Policies take packets whatever the MTU: what they make of them is cut further below.
    by_policy = index > 0 and below.interface == _end(stack.overlays[index - 1]).interface
    return [size] if by_policy or _fits(stack, index, size) else cut(size, below.mtu, below.family)


def _fits(stack: Stack, index: int, size: int) -> bool:
    """Whether a packet of so many bytes of the layer at that index passes whole, or is made smaller by its program."""
    layer = stack.layers[index]
    by_itself = layer.declared.segments or formats(stack)[index].streams or layer.declared.needs_underlay == "ethernet"
    return by_itself or size <= _end(stack.overlays[index]).mtu


def _too_large(stack: Stack, packet: int) -> list[int]:
    """The layers whose packets do not fit below them, by their index."""
    return [
        index
        for index, passes in enumerate(passing(stack, packet))
        if not all(_fits(stack, index, size) for size in passes.sizes)
    ]


def computed(stack: Stack, packet: int) -> Sizes:
    """The sizes of a packet that has so many bytes in the overlay."""
    below = passing(stack, packet)
    return Sizes(packet, tuple(sum(one.pieces) for one in below), tuple(len(one.pieces) for one in below))


def limits(stack: Stack) -> Limits:
    """The largest packet that is cut nowhere, and the MSS that the MTU of the overlay allows."""
    mtu = _end(stack.overlay).mtu
    whole = next((packet for packet in range(mtu, 0, -1) if not _too_large(stack, packet)), 0)
    return Limits(whole, mtu - IP[family(stack)].size - TCP_HEADER)


def _end(overlay: Mapping[str, Overlay]) -> Overlay:
    """What holds at one endpoint, as at all of them."""
    return next(iter(overlay.values()))


def workloads(payloads: Sequence[int]) -> list[str]:
    """The workloads that measure all of it."""
    return [*map(_with_payload, payloads), LARGEST_PACKET_WORKLOAD, LIMITS_WORKLOAD]


def _with_payload(payload: int) -> str:
    return f"{OVERHEAD_WORKLOAD}:payload={payload}"


def packets(stack: Stack, payloads: Sequence[int]) -> dict[str, int]:
    """The packet of each of these workloads, in bytes, as far as it fits into the MTU and passes what is below."""
    full = _end(stack.overlay).mtu
    asked = {_with_payload(payload): packet_size(payload, family(stack)) for payload in payloads}
    asked[LARGEST_PACKET_WORKLOAD] = full
    return {name: packet for name, packet in asked.items() if packet <= full and _passes(stack, packet)}


def _passes(stack: Stack, packet: int) -> bool:
    """Whether a packet passes, whole or in fragments, and is not larger than what passes between the nodes."""
    too_large = _too_large(stack, packet)
    most = packet if too_large else computed(stack, packet).below[0]
    lowest = _end(stack.overlays[0]).mtu
    return most <= lowest and all(stack.layers[index].declared.fragmented for index in too_large)


class PacketOverhead(NamedTuple):
    """One packet: its sizes as they are computed and as they were measured."""

    computed: Sizes
    measured: Sizes | None
    spare: int = 0

    @property
    def agrees(self) -> bool:
        """Whether it was measured, and came out equal, or smaller by no more than `spare` bytes."""
        if self.measured is None or self.computed.packet != self.measured.packet:
            return False
        pairs = zip(self.computed.below, self.measured.below, strict=True)
        alike = all(0 <= most - seen <= self.spare for most, seen in pairs)
        return alike and self.computed.on_the_wire == self.measured.on_the_wire


class OverheadCheck(NamedTuple):
    """What was computed and measured of one stack; `reason` says what kept it from being measured, if anything did."""

    stack: str
    rows: list[PacketOverhead]
    computed: Limits
    measured: Limits | None
    reason: str
    bound: bool = False

    @property
    def was_measured(self) -> bool:
        """Whether anything was measured at all."""
        return self.measured is not None or any(row.measured for row in self.rows)

    @property
    def agrees(self) -> bool:
        """Whether all that was computed was measured, and came out equal, or smaller where that is allowed.

        The MSS may be smaller where it is a `bound`, and a packet by what its format has to spare.
        """
        return self.mtu_agrees and self.mss_agrees and all(row.agrees for row in self.rows)

    @property
    def mtu_agrees(self) -> bool:
        """Whether the largest packet that passes is the one that was computed."""
        return self.measured is not None and self.measured.mtu == self.computed.mtu

    @property
    def mss_agrees(self) -> bool:
        """Whether the MSS is the one that was computed, or below it where that is a bound."""
        if self.measured is None:
            return False
        return self.measured.mss <= self.computed.mss if self.bound else self.measured.mss == self.computed.mss


def declared_more(check: OverheadCheck) -> list[list[int]]:
    """By how many bytes more each layer, the lowest first, declares than it adds: the least and the most, or nothing.

    Negative where it declares less. Packets are left out that are cut otherwise than is computed, and of each layer
    those to which it adds what it declares, or less as its format has it to spare.
    """
    spares = [form.spare for form in formats(built(check.stack))]
    wrong: list[set[int]] = [set() for _ in spares]
    for row in check.rows:
        if row.measured and not row.agrees and row.computed.on_the_wire == row.measured.on_the_wire:
            for found, spare, declared, seen in zip(wrong, spares, row.computed.added, row.measured.added, strict=True):
                if not 0 <= declared - seen <= spare:
                    found.add(declared - seen)
    return [sorted({min(found), max(found)}) if found else [] for found in wrong]


Measured = Mapping[tuple[str, str], Sizes]
"""What was measured, by stack and workload."""


def check(record: Record, measured: Measured, stack: str, payloads: Sequence[int]) -> OverheadCheck:
    """Puts computed and measured values of a stack side by side."""
    built_stack = built(stack)
    rows = [
        PacketOverhead(
            computed(built_stack, packet),
            measured.get((stack, workload)),
            sum(form.spare for form in formats(built_stack)),
        )
        for workload, packet in packets(built_stack, payloads).items()
    ]
    reasons = [trial.reason for trial in record.trials if trial.cell["stack"] == stack and trial.verdict != Verdict.OK]
    expected = limits(built_stack)
    bound = expected.mss > HALF_WINDOW or any(layer.declared.clamps for layer in built_stack.layers)
    return OverheadCheck(stack, rows, expected, _measured_limits(record, stack), next(iter(reasons), ""), bound)


def _measured_limits(record: Record, stack: str) -> Limits | None:
    values = {
        row["metric"]: row["value"]
        for trial in record.trials
        if (trial.cell["stack"], trial.cell["workload"]) == (stack, LIMITS_WORKLOAD)
        for row in trial.rows
    }
    return Limits(values["pmtu"], values["mss"]) if {"pmtu", "mss"} <= set(values) else None
