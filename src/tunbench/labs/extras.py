"""What a lab has beyond Debian's packages: tools of the toolbox, and programs that the user brings."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

from tunbench.labs import image
from tunbench.labs.image import Image
from tunbench.runner.declare.access import NO_GATEWAYS, Accesses
from tunbench.runner.declare.tunnel import Needs

ExtraKind = Literal["tools", "brought"]
"""The field of what a tunnel needs that names it."""

EXTRA_KINDS: tuple[ExtraKind, ...] = ("tools", "brought")

DECIDING_EXTRAS = {"tools": "set of tools", "brought": "set of brought programs"}
"""What `manifest_of` says that decides the numbers, each with its name."""


class Extra(Image, Protocol):
    """One of them; `folder` also has its programs in `bin`."""

    @property
    def kind(self) -> ExtraKind:
        """Whether it is a tool or brought."""


TOLD = ("version", "digest", "sha256", "source", "built")
"""What the manifest of a run says of each: enough to build the same tool, or to bring the same program."""


class Needing(Protocol):
    """What needs programs that not every shard has: a stack, or a workload."""

    @property
    def needs(self) -> Sequence[Needs]:
        """What each part of it needs."""

    @property
    def addons(self) -> Sequence[str]:
        """The images of the vm lab that it needs beyond the base image, sorted."""


def extras_of(one: Needing) -> set[tuple[ExtraKind, str]]:
    """The kind and name of each that a stack or a workload needs."""
    return {(kind, name) for kind in EXTRA_KINDS for needs in one.needs for name in getattr(needs, kind)}


def programs_of(one: Needing) -> set[str]:
    """The programs of Debian or the toolbox that it needs: one that is brought takes its place."""
    return {name for needs in one.needs for name in needs.programs}


def images_beyond_base(needing: Iterable[Needing], accesses: Accesses = NO_GATEWAYS) -> list[str]:
    """The names of all that these need, behind gateways, beyond the base image: add-ons, tools, brought programs."""
    every = {name for one in needing for name in (*one.addons, *(name for _, name in extras_of(one)))}
    return sorted({*every, *accesses.addons})


def needed(needing: Iterable[Needing], extras: Iterable[Extra]) -> list[Extra]:
    """Those of the extras that these need, in an order that does not depend on theirs."""
    names: set[tuple[str, str]] = set()
    for one in needing:
        names |= {*extras_of(one), *(("brought", name) for name in programs_of(one))}
    return sorted((one for one in extras if (one.kind, one.name) in names), key=lambda one: (one.kind, one.name))


def manifest_of(extras: Iterable[Extra]) -> dict[str, dict[str, Any]]:
    """What the manifest of a run says of them.

    Raises ImageError.
    """
    manifests = {(one.kind, one.name): image.check(one) for one in extras}
    return {
        kind: {
            name: {key: manifest[key] for key in TOLD if key in manifest}
            for (of, name), manifest in sorted(manifests.items())
            if of == kind
        }
        for kind in EXTRA_KINDS
    }
