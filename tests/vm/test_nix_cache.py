"""Downloads from a Nix cache, with and without a tunnel, twice alike, and their bytes against a cache made here."""

import json
import re
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal.record import Record
from tunbench.runner.workloads.nix_cache import cache_files

pytestmark = pytest.mark.vm

PLAIN, TLS = "nix-cache:packages=10,size=20kB", "nix-cache:packages=4,size=20kB,tls=on"
STACKS = ["none", "wireguard"]
TEXT = plan(STACKS, '["baseline"]', [PLAIN, TLS])


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Record]:
    folder = tmp_path_factory.mktemp("nix") / "run"
    return folder, execute(folder, TEXT)


def test_what_arrived_is_the_cache_that_the_seed_makes(first: tuple[Path, Record], tmp_path: Path) -> None:
    folder, record = first
    assert {verdict for verdict, _ in verdicts(record).values()} == {"ok"}
    for stack in STACKS:
        for workload, packages in ((PLAIN, 10), (TLS, 4)):
            seed = next(trial.cell["seed"] for trial in record.trials)
            made = tmp_path / f"{stack}-{packages}"
            total = cache_files.make(made, packages, 20_000, seed)
            trial = folder / "trials" / stack / "baseline" / workload.replace(":", "-") / "repeat-1"
            arrived = {one["path"]: one["narSize"] for one in json.loads((trial / "store.json").read_text())}
            said = [dict(re.findall(r"(\w+): (.*)", file.read_text())) for file in made.glob("*.narinfo")]
            assert arrived == {one["StorePath"]: int(one["NarSize"]) for one in said}
            assert sum(arrived.values()) == total
        # Descriptions and archives, what the cache says of itself, and the question for the first one.
        plain, _ = values(record, "requests", stack)
        assert 2 * 10 + 1 <= plain <= 2 * 10 + 4
        assert all(0.05 < took < 5 for took in values(record, "duration", stack))
    # What passed the overlay is the archives, and headers besides.
    [carried, *_] = values(record, "carried", "wireguard", workload=PLAIN)
    assert carried > 10 * 20_000


def test_a_second_run_is_alike(first: tuple[Path, Record], tmp_path: Path) -> None:
    again = execute(tmp_path / "again", TEXT, 1)
    assert again.manifest["fingerprint"] == first[1].manifest["fingerprint"]
