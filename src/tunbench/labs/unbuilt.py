"""Which images cannot be used: a line for those that were never built and one for the damaged, with the mend of all."""

from collections.abc import Iterable
from typing import NamedTuple

from tunbench.labs import image
from tunbench.labs.image import Image, ImageError


class Builder(NamedTuple):
    """The command that builds images, the verb for that, and what they are then."""

    command: str
    verb: str
    done: str


LAB_BUILD = Builder("tunbench lab build", "build", "built")

TOOLBOX_INSTALL = Builder("tunbench toolbox install", "install", "installed")


def refuse_several(images: Iterable[Image], builder: Builder) -> None:
    """Raises ImageError where more than one was never built: they are told at once. Of one, `image.check` tells."""
    absent = [one.name for one in images if not image.is_there(one)]
    if len(absent) > 1:
        command, verb, done = builder
        raise ImageError(
            f"the images {', '.join(absent)} are not {done}; {verb} them with: {command} {' '.join(absent)}"
        )


def lines(images: Iterable[Image], builder: Builder) -> list[str]:
    """One line for all that are not there, and one for all that are damaged."""
    broken = [one for one in images if not image.is_whole(one)]
    damaged = [one.name for one in broken if image.is_there(one)]
    absent = [one.name for one in broken if one.name not in damaged]
    command, verb, done = builder
    found = []
    if absent:
        found.append(f"not {done}: {', '.join(absent)}; {verb} with: {command} {' '.join(absent)}")
    if damaged:
        found.append(f"damaged: {', '.join(damaged)}; {verb} anew with: {command} --force {' '.join(damaged)}")
    return found
