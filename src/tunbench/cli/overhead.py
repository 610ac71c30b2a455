"""`tunbench overhead`: the bytes that stacks add to a packet, computed and measured."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.executing import MISTAKES, SOME_FAILED, execute
from tunbench.cli.shared.path_names import folder_option
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import say, screen
from tunbench.cli.shell.errors import BAD_INPUT, bad_input_exits
from tunbench.cli.shell.listing import print_json
from tunbench.plan.axes.stack import read_stack
from tunbench.plan.estimate.duration import MAX_WORKERS, default_workers
from tunbench.report.export import overhead as exported
from tunbench.report.terminal.overhead_table import rendered
from tunbench.run import execution
from tunbench.run import overhead as measuring
from tunbench.run.order import default_folder, order_of


def overhead(
    stacks: Annotated[
        list[str],
        typer.Argument(
            help="Stacks, such as wireguard or ipsec:mode=transport+gre.", autocompletion=completion.tunnels
        ),
    ],
    payload: Annotated[
        list[int] | None, typer.Option(min=0, max=65487, help="Bytes of payload; may be given several times.")
    ] = None,
    out: Annotated[Path | None, folder_option("The run's folder; else runs/<time>-overhead.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MAX_WORKERS, help="Stacks at a time; else one for each processor.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plugin: PluginOption = None,
) -> None:
    """Show the bytes that each layer adds to a packet: computed from the formats, and measured on the wire.

    Echo requests of several sizes pass through each stack in the vm lab. Captures between the nodes and below each
    layer show how large they are there. Then probing finds the largest packet that passes unfragmented, and a TCP
    connection tells its MSS. The exit code is 1 where anything differs from what was computed, and 2 where nothing
    could be measured.

    \b
    Examples:
      tunbench overhead wireguard
      tunbench overhead vxlan wireguard+vxlan ipsec:mode=transport+gre
      tunbench overhead openvpn --payload 100 --payload 1300 --json
    """
    from tunbench.report.conclusion import finish

    console = screen(stderr=True)
    payloads = tuple(sorted(set(payload or measuring.PAYLOADS)))
    with bad_input_exits(ValueError, *MISTAKES):
        names = list(dict.fromkeys(read_stack(stack).name for stack in stacks))
        order = order_of(measuring.loaded(measuring.plan(names, payloads)), {})
        for told in order.toolbox.notes:
            say(console, told)
        folder = out or default_folder(measuring.NAME)
        execution.create(folder, order)
        execute(folder, order, workers or default_workers(order.lab.clock), console)
        finish(folder)
        found = measuring.checks(folder, names, payloads)
    if as_json:
        print_json([exported.as_json(check) for check in found])
    else:
        for check in found:
            screen().print(rendered(check))
    if all(check.agrees for check in found):
        return
    raise typer.Exit(SOME_FAILED if any(check.was_measured for check in found) else BAD_INPUT)
