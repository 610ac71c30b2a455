"""Tunnels that run wild in a VM: what its kernel bounds, the runner survives, and other shards never see."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import hostile
from tests.helpers.measuring import execute, plan, verdicts
from tunbench.runner.declare.verdicts import Verdict

pytestmark = [pytest.mark.vm, pytest.mark.reliability, pytest.mark.long]

PING = "ping:count=200,interval=0.01"

HOSTILE = {
    "ipip": ("forks", hostile.FORKS),
    "gre": ("floods its log", hostile.FLOODS),
    "wireguard": ("eats memory", hostile.EATS),
}


def test_tunnels_that_run_wild_fail_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    named = {
        name: text.replace("about = bare.Bare.about", f'about = bare.Bare.about._replace(name="{name}")')
        for name, (_, text) in HOSTILE.items()
    }
    hostile.smuggle(monkeypatch, named)
    record = execute(tmp_path / "run", plan(["none", *HOSTILE], '["baseline"]', [PING]), workers=1)
    found = verdicts(record)
    assert record.interrupted == ()
    assert found["none", PING][0] == "ok"
    told = []
    for name, (what, _) in HOSTILE.items():
        verdict, reason = found[name, PING]
        assert verdict == Verdict.FAILED, (what, reason)
        told.append(f"{what}: “{reason.splitlines()[0][:100]}”")
    record_property("reliability", f"each failed and came to its end, the other shard ok: {'; '.join(told)}")
