"""`tunbench machine`: the model machine that is equal to this host."""

import os
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tunbench.calibrate import host_features, requirements, sides
from tunbench.calibrate.fit import check as checked
from tunbench.calibrate.fit import compare, fit
from tunbench.calibrate.items import WHOLE_SET
from tunbench.calibrate.requirements import MeasureError, Missing, Runnable
from tunbench.calibrate.sides import Measured
from tunbench.cli.shared.executing import MISTAKES
from tunbench.cli.shell.console import say, screen, show
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.cli.shell.listing import print_json
from tunbench.plan.axes.machine import Machine
from tunbench.plan.estimate.duration import MAX_WORKERS, default_workers, seconds_by_shard
from tunbench.plan.estimate.host_pace import estimate
from tunbench.report.export import calibration as exported
from tunbench.report.terminal import calibration_table
from tunbench.report.terminal.progress import Display
from tunbench.run import execution
from tunbench.run.interrupt import INTERRUPTED, interruptible
from tunbench.run.order import Order

app = typer.Typer(no_args_is_help=True, help="Find the model machine that is equal to this host.")


@app.callback()
def machine() -> None:
    """Find the model machine that is equal to this host."""


@app.command()
def measure(
    workers: Annotated[
        int | None, typer.Option(min=1, max=MAX_WORKERS, help="VMs at a time; else one for each processor.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Run the paths again on the machine found.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure this host, and print the model machine that would carry as much.

    A fixed set runs natively and then in the VM at a speed of 1000: TCP by iperf3 over nothing, in large and in small
    segments, and over openvpn, between namespaces that veth joins; and three ciphers of openssl. For each item the
    ratio is the speed at which the VM would be equal. The paths' median is the machine's cpu.speed; what the processor
    of this host lacks its cpu.without. Beside it stands how far each item is from the one number: where they differ
    much, calibrate by the item that is like your question.

    It takes some minutes; --check takes as many times more as the machine is faster than 1000, and shows whether the
    VM carries as much then. The native half wants a quiet host, and root for namespaces; without root the ciphers alone
    are measured. Nothing is kept, also after Ctrl-C.

    \b
    Examples:
      sudo tunbench machine measure           the table at the end goes into a plan as it is
      sudo tunbench machine measure --check   and whether the VM then carries as much
      tunbench machine measure --json         every number

    Exit code 2 where nothing can be measured; the message names the mend.
    """
    console = screen(stderr=True)
    try:
        with bad_input_exits(MeasureError, OSError, *MISTAKES), interruptible():
            here, features = requirements.runnable(), host_features.of_host()
            for one in here.missing:
                say(console, f"left out: {one.item.name}: {one.why}. {one.mend}")
            with tempfile.TemporaryDirectory(prefix="tunbench-machine-") as folder:
                native = _native(here, Path(folder), console)
                missing = [*here.missing, *_failed(here, native, "natively")]
                here = here.only(native.values)
                virtual = _virtual(here, sides.lacking_machine(features.without), Path(folder), workers, console)
                missing += _failed(here, virtual, "in the VM")
                compared = compare(WHOLE_SET, native.values, virtual.values)
                if not compared:
                    raise MeasureError("; ".join(f"{one.item.name}: {one.why}" for one in missing))
                fitted = fit(compared, features.without)
                if check and here.paths:
                    order = sides.vm_order(here.paths, fitted.machine)
                    again = _paths(order, here, Path(folder) / "check", workers, console)
                    fitted = checked(fitted, again.values)
    except KeyboardInterrupt:
        say(console, "\nInterrupted; nothing is kept.")
        raise typer.Exit(INTERRUPTED) from None
    told = fitted, missing, len(os.sched_getaffinity(0)), features.beyond
    if as_json:
        print_json(exported.as_json(*told))
    else:
        show(screen(), calibration_table.rendered(*told))


def _native(here: Runnable, folder: Path, console: Console) -> Measured:
    ciphers = Measured({}, {})
    if here.ciphers:
        with _told("natively: ciphers", console):
            ciphers = sides.ciphers_here(here.ciphers)
    if not here.paths:
        return ciphers
    return _with(ciphers, _paths(sides.native_order(here.paths), here, folder / "native", None, console))


def _virtual(here: Runnable, lacking: Machine, folder: Path, workers: int | None, console: Console) -> Measured:
    ciphers = Measured({}, {})
    if here.ciphers:
        with _told("in the VM: ciphers", console):
            ciphers = sides.ciphers_in_vm(here.ciphers, lacking, folder)
    if not here.paths:
        return ciphers
    return _with(ciphers, _paths(sides.vm_order(here.paths, lacking), here, folder / "vm", workers, console))


def _told(what: str, console: Console) -> AbstractContextManager[object]:
    """Shows on a terminal that it goes on, and elsewhere that it began."""
    if console.is_terminal:
        return console.status(what)
    say(console, what)
    return nullcontext()


def _paths(order: Order, here: Runnable, folder: Path, wanted: int | None, console: Console) -> Measured:
    """The paths in a lab, in as many at a time as are wanted of VMs."""
    where = f"in the VM at {order.shards[0].machine.speed}" if order.lab.clock == "virtual" else "natively"
    say(console, f"{where}: paths")
    workers = wanted or default_workers(order.lab.clock)
    host = order.lab.examine(order.shards)
    for line in host.lines if host else ():
        say(console, line)
    seconds = estimate(order.shards, workers, order.lab.clock)
    each = seconds_by_shard(order.shards, order.lab.clock)
    with execution.machine_held(order), Display(console, len(order.shards), workers, seconds, each) as display:
        return sides.paths_by(order, folder, workers, display.watch, here.paths)


def _with(one: Measured, other: Measured) -> Measured:
    return Measured({**one.values, **other.values}, {**one.why_not, **other.why_not})


def _failed(here: Runnable, side: Measured, where: str) -> list[Missing]:
    """What could be run and came to nothing on that side."""
    return [
        Missing(item, f"{where}: {side.why_not.get(item, 'told nothing')}", "")
        for item in here.items
        if not side.values.get(item)
    ]
