"""What the VM tests need before the first of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.images import ensured, of_clusters
from tests.helpers.order import put_last
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.plan.cache_folder import cache

LONGEST = ("every_tunnel", "kills", "impairments", "templates", "links", "probes", "lab", "topologies", "virtual_time")
"""The files that take longest: behind all fast tests these begin first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of VMs behind all others, and the longest first among them."""
    put_last(items, Path(__file__).parent, LONGEST)


@pytest.fixture(scope="session", autouse=True)
def base_image() -> Path:
    """The images of the lab; these tests need them, and build them where they are not there.

    That of clusters is built by the one long test that needs it.
    """
    for addon in (addon for name, addon in ADDONS.items() if name not in of_clusters()):
        ensured(addon)
    return ensured(BASE)


@pytest.fixture
def other_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache with the same images, and with no template yet."""
    images = cache() / "images"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "tunbench").mkdir(parents=True)
    (tmp_path / "cache" / "tunbench" / "images").symlink_to(images)
    yield tmp_path / "cache" / "tunbench" / "templates"
