"""The page docs/tunnels.md is what the tunnels declare: TUNBENCH_UPDATE_GOLDEN=1 writes it anew."""

import os
from pathlib import Path

from tunbench.report import tunnels

PAGE = Path(__file__).parents[2] / "docs" / "tunnels.md"


def test_the_page_of_the_tunnels_is_what_they_declare() -> None:
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        PAGE.write_text(tunnels.markdown())
    assert PAGE.read_text() == tunnels.markdown()
