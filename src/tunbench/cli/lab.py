"""`tunbench lab`: the image of the vm lab, and a shell in it."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tunbench.cli.shared.ended_in_order import ended_in_order
from tunbench.cli.shared.narrowing import ProfileOption, StackOption
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.run_name import run_option
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import say, screen
from tunbench.cli.shell.errors import BAD_INPUT, bad_input_exits, complain
from tunbench.cli.shell.listing import print_json
from tunbench.cli.shell.under_way import under_way
from tunbench.executors.cluster import on_worker_received
from tunbench.journal.journal import JournalError
from tunbench.labs import image
from tunbench.labs.lab import LabError
from tunbench.labs.removal import remove
from tunbench.labs.replaced_folder import sweep
from tunbench.labs.vm import explore, image_build, qemu
from tunbench.labs.vm.image_definition import ADDONS, BASE, Definition
from tunbench.labs.vm.image_packages import Versions
from tunbench.labs.vm.templates import start as templates
from tunbench.plan.cache_folder import cache
from tunbench.plan.expand import expand
from tunbench.plan.load import load
from tunbench.plugins import taken
from tunbench.report.terminal import listings
from tunbench.run.order import RunError
from tunbench.run.verify import listed, their_run
from tunbench.run.verify.listed import ListedImage
from tunbench.run.verify.their_run import TheirRun
from tunbench.runner.declare import axes
from tunbench.toolbox import selection
from tunbench.toolbox.command import ToolError

app = typer.Typer(no_args_is_help=True, help="Build and look at the image of the vm lab, and open a shell in it.")

OTHER_IMAGE = 1
"""Exit code of an image that was built as a run had it, and is another one."""

Names = Annotated[
    list[str] | None,
    typer.Argument(
        autocompletion=completion.images, help=f"base (the default; with --as all that RUN has), {', '.join(ADDONS)}."
    ),
]


@app.command()
def build(
    names: Names = None,
    mirror: Annotated[
        str, typer.Option(help="Build it from this mirror of Debian, a URL, or this sources.list, a file.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Build it although it is there.")] = False,
    as_run: Annotated[
        Path | None,
        run_option("--as", "Build it with exactly the versions that this run had.", completion.packed_runs),
    ] = None,
    plugin: PluginOption = None,
) -> None:
    """Build an image from Debian's packages, with this machine's own apt sources. It takes some minutes.

    Equal versions of the packages give an equal image, to the byte, whoever builds it, and when and where. Without --as
    they are the newest that the sources have. With it they are those that the manifest of RUN lists, which is a run's
    folder or what tunbench pack made of it; versions that the sources no longer have are named, and nothing is built.
    It takes the place of the image that is there.

    Exit codes: 0 it is there, 1 it is built and is not that of RUN, 2 bad input, or a mirror without the versions.

    \b
    Examples:
      tunbench lab build base libreswan
      tunbench lab build --as wan.tar.bz2
      tunbench lab build --as runs/wan --mirror http://archive.example.org/debian/20260101
    """
    console = screen(stderr=True)
    definitions = _definitions(names)
    if as_run:
        mistakes = (RunError, JournalError, image.ImageError, OSError)
        with bad_input_exits(*mistakes), ended_in_order(console), their_run.opened(as_run) as their:
            found = listed.images(their)
            versions = {name: one.packages for name, one in found.items()}
            wanted = _of_run(their, found, definitions) if names else list(found.values())
            same = [_build_as(one, versions, their.name, mirror, force, console) for one in wanted]
        raise typer.Exit(0 if all(same) else OTHER_IMAGE)
    with bad_input_exits(image.ImageError, OSError), ended_in_order(console):
        for definition in definitions:
            if image.is_whole(definition) and not force and not mirror:
                sweep(definition.folder.parent)
                say(console, f"{definition.name} is there: {definition.folder}")
                continue
            _build(definition, mirror, None, console)
            say(console, f"{definition.name} is built: {definition.folder}")


def _of_run(their: TheirRun, found: Mapping[str, ListedImage], definitions: Sequence[Definition]) -> list[ListedImage]:
    """These images of a run. Raises RunError where it has not all of them."""
    for one in definitions:
        if one.name not in found:
            raise RunError(f"{their.name} has no image {one.name}; it has {', '.join(found)}")
    return [found[one.name] for one in definitions]


def _build_as(
    one: ListedImage, versions: Mapping[str, Versions], run: str, mirror: str, force: bool, console: Console
) -> bool:
    """Builds an image as a run had it, unless it is there; whether it is the same."""
    if not force and one.is_there():
        say(console, f"{one.definition.name} is there as {run} had it: {one.definition.folder}")
        return True
    _build(one.definition, mirror, versions, console)
    if one.is_there():
        say(console, f"{one.definition.name} is built as {run} had it, equal to the byte: {one.definition.folder}")
        return True
    complain(
        f"{one.definition.name} is built with the versions that {run} had, and is another image, {one.here():.12}… and "
        f"not {one.digest:.12}…; the way of building is another one, or that image was not built from these packages"
    )
    return False


def _build(definition: Definition, mirror: str, versions: Mapping[str, Versions] | None, console: Console) -> None:
    with under_way(console, f"building {definition.name}", definition.seconds) as progress:
        image_build.build(definition, progress, mirror, versions)


@app.command()
def info(as_json: Annotated[bool, typer.Option("--json", help="Print the whole manifest.")] = False) -> None:
    """Show what the base image holds: every package with its version.

    \b
    Examples:
      tunbench lab info
      tunbench lab info --json
    """
    with bad_input_exits(image.ImageError):
        manifest = image.check(BASE)
    if as_json:
        print_json(manifest)
    else:
        screen().print(listings.packages(manifest, BASE.folder))


@app.command()
def shell(
    script: Annotated[
        Path | None, typer.Option(help="Run this script instead, in virtual time, and print its output.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the VM that runs the script; 1 without it.")] = None,
    beyond: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            autocompletion=completion.beyond_base,
            help="What a stack needs beyond the base: an add-on image, an installed tool, a program that you bring.",
        ),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN", help="Bring up the nodes of this plan, with a stack.", autocompletion=completion.plans
        ),
    ] = None,
    stack: StackOption = None,
    profile: ProfileOption = None,
    plugin: PluginOption = None,
) -> None:
    """Open a shell in a VM with two nodes and a router up, on the real clock.

    With --plan it has the nodes, links and gateways of a plan's first shard that matches, its stack up and proved, and
    its profile in force, as the shard's workloads find them.

    \b
    Examples:
      tunbench lab shell --plan quick --stack wireguard --profile medium
      tunbench lab shell --script runs/…/commands.sh    repeat one trial by hand, in a fresh VM
      tunbench lab shell --with headscale --with tailscale
    """
    mistakes = (image.ImageError, LabError, ToolError, OSError)
    with bad_input_exits(*mistakes), ended_in_order(screen(stderr=True)):
        if seed is not None and script is None:
            raise LabError("--seed is that of the VM that runs a script: give it with --script FILE")
        if plan is not None:
            raise typer.Exit(_shell_of_plan(plan, stack, profile, with_others=bool(script or beyond)))
        if stack or profile:
            raise LabError("--stack and --profile choose of a plan: name it with --plan")
        image.check(BASE)
        images = selection.images(beyond or [])
        qemu.check_installed()
        if script is not None:
            printed, status = explore.script(script, 1 if seed is None else seed, "virtual", images)
        else:
            _check_terminal()
            printed, status = "", explore.shell("real", images)
    sys.stdout.write(printed)
    raise typer.Exit(status)


def _shell_of_plan(plan: str, stack: list[str] | None, profile: list[str] | None, with_others: bool) -> int:
    """Opens a shell on the nodes of a plan's first shard that matches. Returns QEMU's exit status."""
    if with_others:
        raise LabError("--plan has what its stack needs, and no script: give it with --stack and --profile alone")
    shard, *_ = expand(load(plan, stack=stack or None, profile=profile or None).plan)
    for one in (BASE, *(ADDONS[name] for name in shard.addons)):
        image.check(one)
    qemu.check_installed()
    needs = selection.needs_of(shard.needing, {})
    extras = selection.at_hand(needs)
    _check_terminal()
    for told in needs.notes:
        complain(told)
    cell = {axis: value for axis, value in shard.cell_of("").items() if axis in axes.SHARD}
    complain(f"{', '.join(f'{axis} {value}' for axis, value in cell.items())}; on the real clock and this machine")
    return explore.shell_of_shard(shard, "real", extras, taken.plugins())


def _check_terminal() -> None:
    if not sys.stdin.isatty():
        raise LabError("a shell needs a terminal; to run a script there is --script FILE")


@app.command()
def clean() -> None:
    """Remove all images from the cache, the templates that were made from them, and what a worker was sent.

    \b
    Example:
      tunbench lab clean
    """
    for name in ("images", templates.FOLDER, on_worker_received.RECEIVED):
        with bad_input_exits(image.ImageError):
            there = remove(cache() / name)
        if there:
            typer.echo(f"removed {cache() / name}")


def _definitions(names: list[str] | None) -> list[Definition]:
    known = {"base": BASE} | ADDONS
    for name in names or []:
        if name not in known:
            typer.echo(f'unknown image "{name}"; known: {", ".join(known)}', err=True)
            raise typer.Exit(BAD_INPUT)
    return [known[name] for name in dict.fromkeys(names or ["base"])]
