"""`tunbench list`: what there is to measure, and with what."""

from dataclasses import asdict
from typing import Annotated

import typer

from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import screen, show
from tunbench.cli.shell.errors import bad_input_exits, one_of
from tunbench.cli.shell.listing import print_rows, print_table
from tunbench.labs import image
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.plan.axes.access import shipped as shipped_accesses
from tunbench.plan.axes.link import shipped as shipped_links
from tunbench.plan.axes.machine import shipped as shipped_machines
from tunbench.plan.axes.profile import shipped
from tunbench.plan.axes.tuning import shipped as shipped_tunings
from tunbench.plan.load import shipped_plans
from tunbench.report.export import tunnel_pages as page
from tunbench.report.export.declarations import access, plan, probe, topology, tunnel, workload
from tunbench.report.terminal import listings
from tunbench.runner import registry
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.declare.topology import SUMMARIES

app = typer.Typer(
    no_args_is_help=True,
    help="List what there is: tunnels, workloads, probes, profiles, links, accesses, topologies, tunings, machines, "
    "plans.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def tunnels(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Tunnels to show with all their options.", autocompletion=completion.tunnels),
    ] = None,
    as_json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/tunnels.md.")] = False,
    plugin: PluginOption = None,
) -> None:
    """List the tunnels, a line each; name one to see its needs, versions and options.

    A stack is tunnels joined by +, from the underlay up, each with options if need be: openvpn:cipher=AES-128-GCM+vxlan

    \b
    Examples:
      tunbench list tunnels
      tunbench list tunnels ipsec openvpn
      tunbench list tunnels --json
    """
    one_of({"--json": as_json, "--markdown": markdown})
    one_of({"--markdown": markdown, "names of tunnels": names})
    if markdown:
        return typer.echo(page.markdown(), nl=False)
    installed = image.installed_packages([BASE, *ADDONS.values()])
    with bad_input_exits(ValueError):
        rows = [tunnel(name, installed) for name in names or registry.tunnel_names()]
    if not (names or as_json):
        return show(screen(), listings.tunnels(rows))
    print_rows(rows, as_json, ("name", "layer", "claims", "needs", "version", "summary"), listings.tunnel_row)
    for name in [] if as_json else names or []:
        heads = (f"option of {name}", *page.OPTION_COLUMNS[1:])
        print_table(heads, page.option_rows(registry.tunnel(name), mark=""))


@app.command()
def workloads(
    as_json: AsJson = False,
    plugin: PluginOption = None,
) -> None:
    """List the workloads, with their options and the metrics that they yield.

    \b
    Examples:
      tunbench list workloads
      tunbench list workloads --json
    """
    rows = [workload(name) for name in registry.workload_names()]
    print_rows(rows, as_json, ("name", "options (default)", "metrics", "summary"), listings.workload_row)


@app.command()
def profiles(as_json: AsJson = False) -> None:
    """List the shipped profiles; a plan can write others inline.

    \b
    Examples:
      tunbench list profiles
      tunbench list profiles --json
    """
    rows = [asdict(profile) for profile in shipped().values()]
    used = [term for term in TERMS if any(term in row["forward"] for row in rows)]
    columns = ("name", "placement", *(term.replace("_", " ") for term in used))
    print_rows(rows, as_json, columns, lambda row: listings.profile_row(row, used))


@app.command()
def links(as_json: AsJson = False) -> None:
    """List the shipped links; a plan can write others inline.

    A rate counts what the framing adds to each frame; a round trip between two endpoints takes four times the delay.

    \b
    Examples:
      tunbench list links
      tunbench list links --json
    """
    rows = [link.spec() for link in shipped_links().values()]
    columns = ("name", "up", "down", "mtu", "framing", "segmentation")
    print_rows(rows, as_json, columns, listings.link_row)


@app.command()
def accesses(as_json: AsJson = False) -> None:
    """List the shipped accesses; a plan can write others inline.

    An access is a gateway before an endpoint, and the link behind it. Its delay is one way, on top of the link's own.
    The firewall is that over IPv4; over IPv6 it is stateful unless an access says otherwise.

    \b
    Examples:
      tunbench list accesses
      tunbench list accesses --json
    """
    rows = [access(one) for one in shipped_accesses().values() if one]
    columns = ("name", "down, up; queue", "delay", "what it does")
    print_rows(rows, as_json, columns, listings.access_row)


@app.command()
def tunings(as_json: AsJson = False) -> None:
    """List the shipped tunings; a plan can write others inline.

    \b
    Examples:
      tunbench list tunings
      tunbench list tunings --json
    """
    rows = [tuning.spec() for tuning in shipped_tunings().values()]
    print_rows(rows, as_json, ("name", "sysctls", "congestion"), listings.tuning_row)


@app.command()
def machines(as_json: AsJson = False) -> None:
    """List the shipped model machines; a plan can write others inline.

    They belong to the virtual clock of the vm lab. The speed is in million instructions a second.

    \b
    Examples:
      tunbench list machines
      tunbench list machines --json
    """
    rows = [machine.spec() for machine in shipped_machines().values()]
    print_rows(rows, as_json, ("name", "speed", "without"), listings.machine_row)


@app.command()
def topologies(as_json: AsJson = False) -> None:
    """List the topologies: endpoints, and the pairs between which workloads run.

    A workload says which pairs it uses: pairs=first (the usual one), each (one after the other) or together.

    \b
    Examples:
      tunbench list topologies
      tunbench list topologies --json
    """
    rows = [topology(name) for name in SUMMARIES]
    print_rows(rows, as_json, ("name", "options (default)", "summary"), listings.topology_row)


@app.command()
def probes(
    as_json: AsJson = False,
    plugin: PluginOption = None,
) -> None:
    """List the probes, which look at the machine before and after every workload.

    A plan takes all of them unless its key probes names others.

    \b
    Examples:
      tunbench list probes
      tunbench list probes --json
    """
    rows = [probe(name) for name in registry.probe_names()]
    print_rows(rows, as_json, ("name", "metrics", "summary"), listings.probe_row)


@app.command()
def plans(as_json: AsJson = False) -> None:
    """List the shipped plans.

    \b
    Examples:
      tunbench list plans
      tunbench plan show quick --text
    """
    with bad_input_exits():
        rows = [plan(name) for name in shipped_plans()]
    columns = ("name", "shards", "trials", "summary")
    print_rows(rows, as_json, columns, lambda row: [str(row[column]) for column in columns])
