"""What somebody else's run lists of its images and tools, so that the same ones can be built here.

It comes from anybody: names and versions go to apt, and what looks like no such thing is refused.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tunbench.journal.written_by import of_commit
from tunbench.labs import image
from tunbench.labs.image import Image
from tunbench.labs.vm.image_build import packages_of
from tunbench.labs.vm.image_definition import ADDONS, BASE, Definition
from tunbench.plain_text import line
from tunbench.run.order import RunError
from tunbench.run.verify.archive import MEND
from tunbench.run.verify.facts import DIGEST
from tunbench.run.verify.their_run import TheirRun
from tunbench.runner.node.json_output import value_at
from tunbench.toolbox import build_requirements
from tunbench.toolbox.tools import TOOLS, Tool

PACKAGE, VERSION = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}"), re.compile(r"[0-9][A-Za-z0-9.+:~-]{0,99}")
"""Debian Policy, sections 5.6.1 and 5.6.12."""

MAX_PACKAGES = 2000
"""Packages of an image; the base has some 220."""

MAX_NAMED = 10
"""Packages that a message names."""


class ListedImage(NamedTuple):
    """An image as a run had it: its digest, and the version of each of its packages."""

    definition: Definition
    digest: str
    packages: Mapping[str, str]

    def here(self) -> str:
        """The digest of the image of that name that is there; empty where there is none that is whole."""
        return str(_manifest(self.definition).get("digest", ""))

    def is_there(self) -> bool:
        """Whether the same one is there."""
        return self.here() == self.digest


class ListedTool(NamedTuple):
    """A tool as a run had it: the digest of its programs, and where their sources come from."""

    tool: Tool
    digest: str
    source: Any

    def is_there(self) -> bool:
        """Whether the same one is installed."""
        return _manifest(self.tool).get("digest") == self.digest

    def difference(self) -> str:
        """What is another one of the tool that is installed, as far as it is known."""
        here = _manifest(self.tool)
        if self.source is not None and self.source != here.get("source"):
            return f"its sources are others, {line(str(self.source), 200)} there and {here.get('source')} here"
        return (
            f"its sources are the same, and its programs are others, {self.digest:.12}… there and "
            f"{here.get('digest')!s:.12}… here (docs/toolbox.md#how-it-is-built)"
        )


def _manifest(one: Image) -> dict[str, Any]:
    """What an image or tool of the cache says of itself; nothing where it is not there, or damaged."""
    try:
        return image.check(one)
    except image.ImageError:
        return {}


def images(their: TheirRun) -> dict[str, ListedImage]:
    """The images of a run by their names, the base first. Raises RunError where one cannot be built here as it was."""
    manifest = their.head.manifest
    if "image" not in manifest:
        raise RunError(f"{their.name} is from a lab that has no image; there is nothing to build")
    addons = manifest.get("addons")
    told = {BASE.name: manifest["image"], **(addons if isinstance(addons, dict) else {})}
    return {name: _image(their, name, one) for name, one in told.items()}


def _image(their: TheirRun, name: str, told: object) -> ListedImage:
    known = {BASE.name: BASE} | ADDONS
    if name not in known:
        raise RunError(f"{their.name} has an image that this version does not know, {line(name, 100)}{_mend(their)}")
    digest, packages = value_at(told, "digest"), value_at(told, "packages")
    if not isinstance(packages, dict) or not 0 < len(packages) <= MAX_PACKAGES or not DIGEST.fullmatch(str(digest)):
        raise RunError(f"{their.name} does not list digest and packages of its image {name}{_mend(their)}")
    for package, version in packages.items():
        if not (PACKAGE.fullmatch(package) and isinstance(version, str) and VERSION.fullmatch(version)):
            what = f"{line(package, 100)} {line(str(version), 100)}"
            raise RunError(f"{their.name} lists what is no package of Debian in its image {name}, {what}; {MEND}")
    if lacking := sorted({*packages_of(known[name])} - packages.keys()):
        more = f" and {len(lacking) - MAX_NAMED} more" if len(lacking) > MAX_NAMED else ""
        raise RunError(
            f"the image {name} of {their.name} has no {', '.join(lacking[:MAX_NAMED])}{more}, which that of this "
            f"Tunbench has{_mend(their)}"
        )
    return ListedImage(known[name], str(digest), packages)


def tools(their: TheirRun, names: Iterable[str] = ()) -> list[ListedTool]:
    """The tools of a run, or those of these names. Raises RunError where one cannot be built here as it was."""
    told = their.head.manifest.get("tools")
    told = told if isinstance(told, dict) else {}
    names = list(dict.fromkeys(names))
    if missing := [name for name in names if name not in told]:
        other = f"; it has {', '.join(line(name, 100) for name in told)}" if told else ", nor any other"
        raise RunError(f"{their.name} has no tool {line(missing[0], 100)}{other}")
    if not told:
        raise RunError(f"{their.name} has no tools; there is nothing to install")
    return [_tool(their, name, told[name]) for name in names or told]


def _tool(their: TheirRun, name: str, told: object) -> ListedTool:
    if name not in TOOLS:
        raise RunError(f"{their.name} has a tool that this version does not know, {line(name, 100)}{_mend(their)}")
    version, digest = value_at(told, "version"), value_at(told, "digest")
    if not DIGEST.fullmatch(str(digest)):
        raise RunError(f"{their.name} does not list the digest of its tool {name}{_mend(their)}")
    if version != TOOLS[name].version:
        raise RunError(
            f"{their.name} has {name} {line(str(version), 40)}, and this Tunbench builds {TOOLS[name].version}"
            f"{_mend(their)}"
        )
    _check_language(their, TOOLS[name], told)
    return ListedTool(TOOLS[name], str(digest), value_at(told, "source"))


def _check_language(their: TheirRun, tool: Tool, told: object) -> None:
    """Another Go or Rust makes other programs of the same sources. What is not there at all is said elsewhere."""
    argv, name = build_requirements.VERSION_COMMANDS[tool.language]
    there, here = value_at(told, "built", name), build_requirements.version(argv)
    if there and here and there != here:
        shown = line(str(there), 40)
        raise RunError(
            f"{their.name} has {tool.name} built by {name} {shown}, and here is {here}, which makes other programs of "
            f"the same sources; install {name} {shown}"
        )


def _mend(their: TheirRun) -> str:
    """Which Tunbench builds what the run had."""
    version, commit = (value_at(their.head.manifest, "tunbench", key) for key in ("version", "commit"))
    return f"; build it with the Tunbench that it is from, {version}{of_commit(commit)}"
