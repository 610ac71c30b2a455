"""What a lab has beyond Debian's packages: tools of the toolbox, and programs that the user brings."""

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from tunbench.labs import image
from tunbench.labs.image import Image
from tunbench.plan.axes.stack import PlannedStack
from tunbench.runner.declare.access import NO_GATEWAYS, Accesses

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


def extras_of(stack: PlannedStack) -> set[tuple[ExtraKind, str]]:
    """The kind and name of each that the layers of a stack declare."""
    return {(kind, name) for kind in EXTRA_KINDS for about in stack.abouts for name in getattr(about.needs, kind)}


def programs_of(stack: PlannedStack) -> set[str]:
    """The programs of Debian or the toolbox that the layers of a stack run: one that is brought takes its place."""
    return {name for about in stack.abouts for name in about.needs.programs}


def images_beyond_base(stack: PlannedStack, accesses: Accesses = NO_GATEWAYS) -> list[str]:
    """The names of all that a stack behind gateways needs beyond the base image: add-ons, tools, brought programs."""
    return sorted({*stack.addons, *accesses.addons, *(name for _, name in extras_of(stack))})


def needed(stack: PlannedStack, extras: Iterable[Extra]) -> list[Extra]:
    """Those of the extras that a stack needs, in an order that does not depend on theirs."""
    names: set[tuple[str, str]] = {*extras_of(stack), *(("brought", name) for name in programs_of(stack))}
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
