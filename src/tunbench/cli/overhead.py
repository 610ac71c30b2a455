"""`tunbench overhead`: the bytes that stacks add to a packet, computed and measured."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tunbench.analysis import overhead as analysis
from tunbench.analysis.overhead import Finding, Row
from tunbench.cli.console import screen
from tunbench.cli.errors import bad_input_exits
from tunbench.cli.listing import print_json
from tunbench.cli.run import MISTAKES, SOME_FAILED, execute, finish
from tunbench.plan.axes.stack import read_stack
from tunbench.plan.estimate.duration import MAX_WORKERS
from tunbench.run import execution
from tunbench.run import overhead as measuring
from tunbench.run.order import default_folder, read_order
from tunbench.runner.declare.packet_format import Format


def overhead(
    stacks: Annotated[list[str], typer.Argument(help="Stacks, such as wireguard or ipsec:mode=transport+gre.")],
    payload: Annotated[
        list[int] | None, typer.Option(min=0, max=65487, help="Bytes of payload; may be given several times.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; else runs/<time>-overhead.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MAX_WORKERS, help="Stacks at a time; else one for each processor.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the bytes that each layer adds to a packet: computed from the formats, and measured on the wire.

    Echo requests of several sizes pass through each stack in the vm lab. Captures between the nodes and below each
    layer show how large they are there. Then probing finds the largest packet that passes unfragmented, and a TCP
    connection tells its MSS. The exit code is 1 where anything differs from what was computed.

    \b
    Examples:
      tunbench overhead wireguard
      tunbench overhead vxlan wireguard+vxlan ipsec:mode=transport+gre
      tunbench overhead openvpn --payload 100 --payload 1300 --json
    """
    console = screen(stderr=True)
    payloads = tuple(sorted(set(payload or measuring.PAYLOADS)))
    with bad_input_exits(ValueError, *MISTAKES):
        names = list(dict.fromkeys(read_stack(stack).name for stack in stacks))
        order = read_order(measuring.plan(names, payloads), "overhead", {})
        folder = out or default_folder("overhead")
        execution.create(folder, order)
        execute(folder, order, workers or os.cpu_count() or 1, console)
        finish(folder)
        found = measuring.findings(folder, names, payloads)
    if as_json:
        print_json([_as_data(finding) for finding in found])
    else:
        for finding in found:
            _print(finding, screen())
    raise typer.Exit(0 if all(finding.agrees for finding in found) else SOME_FAILED)


def _print(finding: Finding, console: Console) -> None:
    pile = analysis.built(finding.stack)
    layers = [layer.about.name for layer in pile.layers]
    console.print(f"\n{finding.stack}", style="bold")
    for name, form in zip(layers, analysis.formats(pile), strict=True):
        headers = (*form.outside, *form.inside)
        console.print(f"  {name}: {_summed(form)}")
        sources = "; ".join(dict.fromkeys(header.source for header in headers))
        console.print(f"    {sources}", style="dim")
    table = Table()
    table.add_column("packet (B)", justify="right")
    for column in [*(layers if len(layers) > 1 else []), "adds (B)", "measured (B)", "on the wire (B)"]:
        table.add_column(column, justify="right")
    for row in finding.rows:
        each = [str(added) for added in row.computed.added] if len(layers) > 1 else []
        measured = _compared(row)
        total = f"{'≤ ' if row.spare else ''}{row.computed.total}"
        table.add_row(str(row.computed.packet), *each, total, measured, str(row.computed.below[0]))
    console.print(table)
    console.print(_limits(finding))
    if finding.reason:
        console.print(f"  {finding.reason}", style="red")


def _summed(form: Format) -> str:
    headers = " + ".join(f"{header.name} {header.size}" for header in (*form.outside, *form.inside))
    padded = f", padded to {form.block}" + (" within the MTU" if form.clipped else "") if form.block > 1 else ""
    return (headers or "adds nothing") + padded


def _compared(row: Row) -> Text:
    if row.measured is None:
        return Text("–", "red")
    if row.agrees:
        return Text(str(row.measured.total), "green")
    return Text(f"{row.measured.total} ({' + '.join(str(added) for added in row.measured.added)})", "red")


def _limits(finding: Finding) -> Text:
    computed, measured = finding.computed, finding.measured
    mtu = _shown(measured.mtu if measured else None, finding.mtu_agrees)
    mss = _shown(measured.mss if measured else None, finding.mss_agrees)
    at_most = "at most " if finding.bound else ""
    largest = f"  largest packet unfragmented {computed.mtu:g} B, measured "
    return Text.assemble(largest, mtu, f"; TCP MSS {at_most}{computed.mss:g} B, measured ", mss)


def _shown(value: float | None, agrees: bool) -> Text:
    return Text("–" if value is None else f"{value:g}", "green" if agrees else "red")


def _as_data(finding: Finding) -> dict[str, object]:
    pile = analysis.built(finding.stack)
    return {
        "stack": finding.stack,
        "agrees": finding.agrees,
        "reason": finding.reason,
        "layers": [
            {
                "layer": layer.about.name,
                "headers": [header._asdict() for header in (*form.outside, *form.inside)],
                "padded_to": form.block,
                "kept_outside": form.kept,
                "padded_within_mtu": form.clipped,
                "smaller_by_at_most": form.spare,
            }
            for layer, form in zip(pile.layers, analysis.formats(pile), strict=True)
        ],
        "packets": [
            {
                "packet": row.computed.packet,
                "computed": row.computed.added,
                "measured": row.measured.added if row.measured else None,
            }
            for row in finding.rows
        ],
        "computed": finding.computed._asdict(),
        "measured": finding.measured._asdict() if finding.measured else None,
    }
