"""`tunbench lab`: the image of the vm lab, and a shell in it."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tunbench.cli.console import say, screen
from tunbench.cli.errors import BAD_INPUT, bad_input_exits
from tunbench.cli.listing import print_json
from tunbench.labs import image
from tunbench.labs.image import cache, remove
from tunbench.labs.lab import LabError
from tunbench.labs.vm import explore, image_build, qemu
from tunbench.labs.vm.image_definition import ADDONS, BASE, Definition
from tunbench.report.terminal import listings
from tunbench.toolbox import selection
from tunbench.toolbox.command import ToolError

app = typer.Typer(no_args_is_help=True, help="Build and look at the image of the vm lab, and open a shell in it.")

Names = Annotated[list[str] | None, typer.Argument(help=f"base (the default), {', '.join(ADDONS)}.")]


@app.command()
def build(
    names: Names = None,
    mirror: Annotated[str, typer.Option(help="Build it from this Debian mirror or sources.list.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Build it although it is there.")] = False,
) -> None:
    """Build an image from Debian's packages, with this machine's own apt sources. It takes about a minute."""
    console = screen(stderr=True)
    with bad_input_exits(image.ImageError, OSError):
        for definition in _definitions(names):
            if (definition.folder / "manifest.json").exists() and not force and not mirror:
                say(console, f"{definition.name} is there: {definition.folder}")
                continue
            with console.status(f"building {definition.name}") as status:
                image_build.build(definition, lambda text: status.update(Text(f"building: {text}")), mirror)
            say(console, f"{definition.name} is built: {definition.folder}")


@app.command()
def info(as_json: Annotated[bool, typer.Option("--json", help="Print the whole manifest.")] = False) -> None:
    """Show what the base image holds: every package with its version."""
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
    seed: Annotated[int, typer.Option(help="Seed of the VM that runs the script.")] = 1,
    beyond: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="What a stack needs beyond the base: an add-on image, an installed tool, a program that you bring.",
        ),
    ] = None,
) -> None:
    """Open a shell in a VM with two nodes and a router up, on the real clock.

    \b
    Examples:
      tunbench lab shell --script runs/…/commands.sh    repeat one trial by hand, in a fresh VM
      tunbench lab shell --with headscale --with tailscale
    """
    with bad_input_exits(image.ImageError, LabError, ToolError, OSError):
        image.check(BASE)
        images = selection.images(beyond or [])
        qemu.check_installed()
        if script is not None:
            printed, status = explore.script(script, seed, "virtual", images)
            sys.stdout.write(printed)
            raise typer.Exit(status)
        if not sys.stdin.isatty():
            raise LabError("a shell needs a terminal; to run a script there is --script FILE")
        raise typer.Exit(explore.shell("real", images))


@app.command()
def clean() -> None:
    """Remove all images from the cache, and the templates that were made from them."""
    for name in ("images", "templates"):
        with bad_input_exits(OSError):
            remove(cache() / name)
        typer.echo(f"removed {cache() / name}")


def _definitions(names: list[str] | None) -> list[Definition]:
    known = {"base": BASE} | ADDONS
    for name in names or []:
        if name not in known:
            typer.echo(f'unknown image "{name}"; known: {", ".join(known)}', err=True)
            raise typer.Exit(BAD_INPUT)
    return [known[name] for name in names or ["base"]]
