"""A run is verified by executing its shards again: equal to the byte, and not where a sample was changed."""

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.measuring import plan
from tests.helpers.packed_runs import change_sample, whole_run
from tests.helpers.runs import invoke
from tests.helpers.strangers import Property
from tunbench.run.order import read_order
from tunbench.run.results import finish
from tunbench.run.verify.pack import pack

pytestmark = pytest.mark.vm


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one shard."""
    text = plan(["none"], '["baseline"]', ["ping:count=3"])
    return whole_run(tmp_path_factory.mktemp("made") / "run", read_order(text, "test.toml", {}))


@pytest.mark.reliability
def test_a_packed_run_is_verified_to_the_byte(run: Path, tmp_path: Path, record_property: Property) -> None:
    pack(run, tmp_path / "run.tar.bz2")
    result = invoke("verify", str(tmp_path / "run.tar.bz2"))
    assert (result.exit_code, result.stdout) == (0, "verified: 1 of 1 shard, equal to the byte\n"), result.output
    record_property(
        "reliability", f"an archive of {(tmp_path / 'run.tar.bz2').stat().st_size} B: {result.stdout.strip()}"
    )


@pytest.mark.reliability
def test_a_sample_that_was_changed_is_named(run: Path, tmp_path: Path, record_property: Property) -> None:
    """Also where whoever changed it made the manifest and all digests anew."""
    changed = tmp_path / "run"
    shutil.copytree(run, changed)
    change_sample(changed, "none", 1)
    assert invoke("verify", str(changed)).exit_code == 2
    finish(changed, lambda _: None)
    pack(changed, tmp_path / "run.tar.bz2")
    result = invoke("verify", str(tmp_path / "run.tar.bz2"), "--json")
    assert result.exit_code == 1, result.output
    [one] = json.loads(result.stdout)["differences"]
    assert (one["trial"], one["unequal"]) == ("none, baseline, ping:count=3, repeat 1", 1)
    assert one["what"].startswith("rtt at ") and float(one["theirs"].split()[0]) > float(one["here"].split()[0])
    assert one["event"]["measured"], "all that led to it is equal"
    record_property(
        "reliability", f"one round trip, with new digests: {one['theirs']} there, {one['here']} here, exit code 1"
    )
