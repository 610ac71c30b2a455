"""What a stack adds to a packet on the terminal: computed beside measured."""

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.text import Text

from tunbench.analysis import overhead
from tunbench.analysis.overhead import OverheadCheck, PacketOverhead, Sizes
from tunbench.report.reasons import shortened
from tunbench.report.terminal.grid import Grid, GridColumn, rows_of
from tunbench.runner.declare.packet_format import Format


def rendered(check: OverheadCheck) -> Group:
    """The formats of the layers, a table of packets, and the limits."""
    built_stack = overhead.built(check.stack)
    layers = [layer.about.name for layer in built_stack.layers]
    lines = [Text(f"\n{check.stack}", "bold")]
    for name, form in zip(layers, overhead.formats(built_stack), strict=True):
        sources = dict.fromkeys(header.source for header in (*form.outside, *form.inside))
        lines += [Text(f"  {name}: {_summed(form)}"), Text(f"    {'; '.join(sources)}", "dim")]
    reason = [Text(f"  {shortened(check.reason)}", "red")] if check.reason else []
    return Group(*lines, _packets(check, layers), _limits(check), *_differing(check, layers), *reason)


def _differing(check: OverheadCheck, layers: Sequence[str]) -> Iterator[Text]:
    """A sentence for each layer whose headers are not declared as they are on the wire."""
    for layer, more in zip(layers, overhead.declared_more(check), strict=True):
        if more:
            told = " to ".join(f"{abs(one)} B {'more' if one > 0 else 'less'}" for one in more)
            yield Text(f"  {layer} declares {told} than the capture shows", "red")


def _packets(check: OverheadCheck, layers: Sequence[str]) -> Grid:
    """One row a packet: what each layer adds to it, and all of them, as computed and as measured."""
    several = len(layers) > 1
    heads = ["packet (B)", *(layers if several else []), "adds (B)", "measured (B)", "on the wire (B)"]
    rows: list[list[str | Text]] = []
    for row in check.rows:
        each = [str(added) for added in row.computed.added] if several else []
        total = f"{'≤ ' if row.spare else ''}{row.computed.total}"
        rows.append([str(row.computed.packet), *each, total, _compared(row), _wire(row.computed)])
    return Grid([GridColumn(head, number=True) for head in heads], rows_of(rows))


def _wire(sizes: Sizes) -> str:
    """The bytes between the nodes, and in how many packets they are, where it is not one."""
    return f"{sizes.below[0]}" + (f" in {sizes.on_the_wire}" if sizes.on_the_wire > 1 else "")


def _summed(form: Format) -> str:
    headers = " + ".join(f"{header.name} {header.size}" for header in (*form.outside, *form.inside))
    padded = f", padded to {form.block}" + (" within the MTU" if form.clipped else "") if form.block > 1 else ""
    return (headers or "adds nothing") + padded


def _compared(row: PacketOverhead) -> Text:
    if row.measured is None:
        return Text("–", "red")
    if row.agrees:
        return Text(str(row.measured.total), "green")
    each = " + ".join(str(added) for added in row.measured.added)
    others = row.measured.on_the_wire != row.computed.on_the_wire
    return Text(f"{row.measured.total} ({each})" + (f" in {row.measured.on_the_wire}" if others else ""), "red")


def _limits(check: OverheadCheck) -> Text:
    computed, measured = check.computed, check.measured
    mtu = _shown(measured.mtu if measured else None, check.mtu_agrees)
    mss = _shown(measured.mss if measured else None, check.mss_agrees)
    at_most = "at most " if check.bound else ""
    largest = f"  largest packet unfragmented {computed.mtu:g} B, measured "
    return Text.assemble(largest, mtu, f"; TCP MSS {at_most}{computed.mss:g} B, measured ", mss)


def _shown(value: float | None, agrees: bool) -> Text:
    return Text("–" if value is None else f"{value:g}", "green" if agrees else "red")
