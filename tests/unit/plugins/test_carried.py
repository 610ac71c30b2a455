"""What of plug-ins goes into the lab, and what the manifest says of it."""

from pathlib import Path

import pytest

from tests.helpers.labs import started
from tests.helpers.plugins import PROBE, TUNNEL, WORKLOAD, made
from tunbench.labs import payload
from tunbench.labs.carried import carried
from tunbench.labs.native.lab import NativeLab
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.expand import expand
from tunbench.plan.load import check
from tunbench.plan.shard import Shard
from tunbench.plugins import taken
from tunbench.plugins.folder import PluginError, read
from tunbench.run.manifest import plugins_of
from tunbench.run.order import read_order

MINE, OF_MINE = "tunbench/runner/tunnels/mine.py", {"tunnels/mine.py": TUNNEL}


def shards(stacks: str, workloads: str = '"ping"', more: str = "") -> list[Shard]:
    return list(expand(check(f'name = "x"\nstacks = [{stacks}]\nworkloads = [{workloads}]\n{more}', "x.toml")))


def test_a_shard_carries_what_it_uses_and_nothing_else(tmp_path: Path) -> None:
    taken.take(
        [
            made(tmp_path / "tunnel", OF_MINE),
            made(tmp_path / "workload", {"workloads/my_wait.py": WORKLOAD}),
            made(tmp_path / "idle", {"tunnels/other.py": TUNNEL.replace('"mine"', '"other"')}),
        ]
    )
    bare, over = shards('"none", "wireguard+mine"')
    assert [one.name for one in carried(bare, taken.plugins())] == []
    assert [one.name for one in carried(over, taken.plugins())] == ["tunnel"]
    [both] = shards('"mine"', '"my-wait"')
    assert [one.name for one in carried(both, taken.plugins())] == ["tunnel", "workload"]


def test_a_probe_goes_along_wherever_it_is_on(tmp_path: Path) -> None:
    taken.take([made(tmp_path / "probe", {"probes/my_look.py": PROBE})])
    for more, names in (("", ["probe"]), ('probes = ["cost"]', []), ('probes = ["my-look"]', ["probe"])):
        [one] = shards('"none"', more=more)
        assert [plugin.name for plugin in carried(one, taken.plugins())] == names


def test_the_runner_of_either_lab_has_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken.take([made(tmp_path / "mine", OF_MINE)])
    bare, over = shards('"none", "mine"')
    for name, shard in (("bare", bare), ("over", over)):
        (tmp_path / name).mkdir()
        started(monkeypatch, NativeLab(plugins=tuple(taken.plugins())), tmp_path / name, shard)
    assert (tmp_path / "over" / "payload" / MINE).read_text() == TUNNEL
    assert not (tmp_path / "bare" / "payload" / MINE).exists()
    archives = {}
    for name, shard in (("vm-bare", bare), ("vm-over", over)):
        (tmp_path / name).mkdir()
        started(monkeypatch, VmLab("virtual", plugins=tuple(taken.plugins())), tmp_path / name, shard)
        archives[name] = (tmp_path / name / "boot.cpio").read_bytes()
    assert TUNNEL.encode() in archives["vm-over"]
    assert TUNNEL.encode() not in archives["vm-bare"]
    taken.release()
    (tmp_path / "none-taken").mkdir()
    started(monkeypatch, VmLab("virtual"), tmp_path / "none-taken", bare)
    assert (tmp_path / "none-taken" / "boot.cpio").read_bytes() == archives["vm-bare"]


def test_no_file_takes_the_place_of_another_one(tmp_path: Path) -> None:
    one, other = (read(made(tmp_path / name, OF_MINE)) for name in "ab")
    assert MINE in payload.runner_files([one])
    with pytest.raises(PluginError, match=f"the runner has {MINE} already"):
        payload.runner_files([one, other])
    shipped = one._replace(files=(("tunnels/openvpn/packets.py", b""),))
    with pytest.raises(PluginError, match=r"has tunbench/runner/tunnels/openvpn/packets\.py already"):
        payload.runner_files([shipped])


def test_the_digest_of_the_runner_is_that_of_what_is_shipped(tmp_path: Path) -> None:
    before = payload.digest()
    taken.take([made(tmp_path / "mine")])
    assert payload.digest() == before


def test_the_manifest_names_what_is_carried_by_its_digest(tmp_path: Path) -> None:
    taken.take([made(tmp_path / "mine", OF_MINE), made(tmp_path / "idle", {"workloads/my_wait.py": WORKLOAD})])
    order = read_order('name = "x"\nstacks = ["mine"]\nworkloads = ["ping"]\n', "x.toml", {})
    digest = read(tmp_path / "mine").digest
    assert plugins_of(order) == {"plugins": {"mine": {"digest": digest, "tunnels": ["mine"]}}}
    order = read_order('name = "x"\nstacks = ["none"]\nworkloads = ["ping"]\n', "x.toml", {})
    assert plugins_of(order) == {}


def test_the_digest_follows_from_what_goes_into_the_lab(tmp_path: Path) -> None:
    one, other = (read(made(tmp_path / name / "mine", OF_MINE)).digest for name in "ab")
    assert one == other
    made(tmp_path / "a" / "mine", {"README.md": "of no weight", "tunnels/__pycache__/mine.py": "nor this"})
    assert read(tmp_path / "a" / "mine").digest == one
    made(tmp_path / "a" / "mine", {"tunnels/mine.py": f"{TUNNEL}\n"})
    assert read(tmp_path / "a" / "mine").digest != one
