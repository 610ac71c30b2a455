"""What `scripts/setup` builds for the tests is every image that there is, but for that of clusters."""

import re
from pathlib import Path

from tests.helpers.images import of_clusters
from tunbench.labs.vm.image_definition import ADDONS, BASE

SETUP = Path(__file__).parents[2] / "scripts" / "setup"


def test_the_images_of_the_tests_are_all_images() -> None:
    lists = re.findall(r'images="([^"]*)"', SETUP.read_text())
    built = [name for names in lists for name in names.split() if name != "$images"]
    assert sorted(built) == sorted({BASE.name, *ADDONS} - of_clusters())
