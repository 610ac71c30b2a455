"""An image as a worker is told of it: where it belongs in the cache, and its digest."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

from tunbench.labs import image
from tunbench.labs.extras import Extra, ExtraKind
from tunbench.labs.image import Image
from tunbench.plan.cache_folder import cache

TEMPLATE_KIND = "template"


class SentImage(NamedTuple):
    """An image; `place` is its folder below the cache, and `kind` that of an extra, empty of an image of the lab.

    A template is one, too, of a kind of its own.
    """

    name: str
    place: str
    digest: str
    kind: str

    @property
    def folder(self) -> Path:
        """Where it lies in the cache."""
        return cache() / self.place

    @property
    def called(self) -> str:
        """What messages call it."""
        return f"the {'template' if self.kind == TEMPLATE_KIND else 'image'} {self.name}"

    @property
    def build(self) -> str:
        """Workers build none."""
        return "nothing: it is sent"

    @property
    def rebuild(self) -> str:
        """What is damaged is sent anew."""
        return self.build

    def lying(self, folder: Path) -> "LyingImage":
        """The same where it lies on a worker."""
        return LyingImage(self.name, folder, cast(ExtraKind, self.kind), self.build, self.rebuild)


class LyingImage(NamedTuple):
    """An image in a folder, as a lab takes it: where it has the kind of an extra, as one."""

    name: str
    folder: Path
    kind: ExtraKind
    build: str
    rebuild: str


def sent(images: Iterable[Image], extras: Iterable[Extra]) -> list[SentImage]:
    """What workers are told of images whose files are what their manifests say. Raises ImageError."""
    kinds: list[tuple[Image, str]] = [*((one, "") for one in images), *((one, one.kind) for one in extras)]
    return [
        SentImage(one.name, str(one.folder.relative_to(cache())), str(image.check(one)["digest"]), kind)
        for one, kind in kinds
    ]


def told(data: Iterable[Any]) -> list[SentImage]:
    """The same from the lists that came over the network."""
    return [SentImage(*one) for one in data]
