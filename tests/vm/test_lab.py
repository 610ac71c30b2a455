"""The lab itself: add-on images, the real clock, memory, and a user who is not root."""

import os
import shutil
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.helpers import spending
from tests.helpers.images import ensured
from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.labs import image
from tunbench.labs.vm import explore
from tunbench.labs.vm.image_definition import ADDONS, BASE

pytestmark = pytest.mark.vm


def test_an_add_on_image_lies_over_the_base(tmp_path: Path) -> None:
    addon = ADDONS["libreswan"]
    ensured(addon)
    packages = image.check(addon)["packages"]
    assert packages.keys() >= {"libreswan", "iproute2"}
    assert not packages.keys() & set(addon.excludes)
    base, extra = (sum(path.stat().st_blocks for path in one.folder.iterdir()) for one in (BASE, addon))
    assert extra < base, "an add-on holds only what lies beyond the base"
    script = tmp_path / "script"
    script.write_text("ipsec --version; swanctl --help | head -n 1; ip -V\n")
    printed, status = explore.script(script, 1, "virtual", [addon])
    assert "Libreswan" in printed and "strongSwan" in printed and "iproute2" in printed
    assert status == 0


def test_no_module_of_pythons_library_is_compiled_anew_in_the_lab() -> None:
    data = subprocess.run(["sqfs2tar", str(BASE.folder / "image.squashfs")], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        compiled = {one.name: tar.extractfile(one).read(8) for one in tar if one.name.endswith(".pyc")}  # type: ignore[union-attr]
    assert any("collections/__pycache__/__init__." in name for name in compiled)
    # PEP 552: by a hash, which is not compared with that of the source; else by its time, which an image does not keep.
    assert {name for name, head in compiled.items() if head[4:] != b"\x01\0\0\0"} == set()


def test_a_script_that_needs_no_add_on_does_not_see_one(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("command -v pluto || echo none; exit 3\n")
    assert explore.script(script, 1, "virtual") == ("none\n", 3)


def test_the_real_clock_measures_too_and_promises_nothing(tmp_path: Path) -> None:
    record = execute(
        tmp_path / "run", plan(["wireguard"], '["low"]', ["ping:count=20", "iperf3-tcp:duration=1"], clock="real")
    )
    assert set(verdicts(record).values()) == {("ok", "")}
    assert values(record, "throughput", "wireguard")[0] > 1e5
    assert record.manifest["fingerprint"] == "no promise"


def test_a_vm_stays_below_its_memory(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(plan(["wireguard"], '["low"]', ["iperf3-tcp:duration=1"]))
    spent = spending.command("run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "run"))
    assert spent.code == 0, spent.stderr
    assert spent.memory_bytes < spent.largest_childs_bytes < 1.5 * (1 << 30)


def _link_or_copy(source: str, target: str) -> None:
    """Gives a file a second name, which takes neither time nor room; on another file system a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def test_running_needs_no_root(tmp_path: Path) -> None:
    # As root it becomes another user; any other user is one already.
    user = 65534 if os.geteuid() == 0 else os.geteuid()
    become = ["setpriv", f"--reuid={user}", "--clear-groups"] if os.geteuid() == 0 else []
    home = Path("/tmp") / f"tunbench-test-{os.getpid()}"
    try:
        shutil.copytree(BASE.folder, home / "tunbench" / "images" / BASE.folder.name)
        shutil.copytree(Path(__file__).parents[2] / "src", home / "src")
        for path in [home, *home.rglob("*")]:
            os.chown(path, user, user if become else -1)
        packages = next(path for path in sys.path if path.endswith("site-packages"))
        shutil.copytree(packages, home / "packages", copy_function=_link_or_copy)
        environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(home), "HOME": str(home)}
        environment["PYTHONPATH"] = f"{home}/src:{home}/packages"
        done = subprocess.run(
            [*become, "/usr/bin/python3", "-m", "tunbench", "run", "smoke", "--workload", "ping*"],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    finally:
        shutil.rmtree(home, ignore_errors=True)
