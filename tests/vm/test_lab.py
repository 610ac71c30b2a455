"""The lab itself: add-on images, the real clock, memory, and a user who is not root."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vm.measuring import execute, plan, values, verdicts
from tunbench.labs import explore, image
from tunbench.labs.definition import ADDONS, BASE

pytestmark = pytest.mark.vm

# Captures what passes between two nodes that speak WireGuard; another program than tcpdump reads it.
TWO_NODES = """\
set -e
umask 077
cd /tmp
for n in a b; do ip netns add $n; wg genkey >$n.key; wg pubkey <$n.key >$n.pub; done
ip link add eth0 netns a type veth peer name eth0 netns b
set -- a 1 b 2; for i in 1 2; do ip -n $1 address add 10.9.0.$2/24 dev eth0; ip -n $1 link set eth0 up; shift 2; done
connect() {
  ip -n $1 link add wg0 type wireguard
  ip netns exec $1 wg set wg0 listen-port 51820 private-key $1.key \\
    peer $(cat $3.pub) allowed-ips 10.8.0.$4/32 endpoint 10.9.0.$4:51820
  ip -n $1 address add 10.8.0.$2/24 dev wg0
  ip -n $1 link set wg0 up
}
connect a 1 b 2; connect b 2 a 1
ip netns exec b tcpdump -i eth0 -U -w seen.pcap 2>/dev/null &
sleep 1
ip netns exec a ping -c 3 -i 0.05 10.8.0.2 >/dev/null
sleep 1
tshark -r seen.pcap -Y wg -T fields -e wg.type 2>/dev/null | sort | uniq -c
"""


def test_an_add_on_image_brings_its_programs_and_reads_captures_independently(tmp_path: Path) -> None:
    addon = ADDONS["tshark"]
    image.ensure(addon, print)
    assert image.check(addon)["packages"].keys() >= {"tshark", "iproute2"}
    base, extra = (sum(path.stat().st_blocks for path in one.folder.iterdir()) for one in (BASE, addon))
    assert extra < base, "an add-on holds only what lies beyond the base"
    script = tmp_path / "script"
    script.write_text(TWO_NODES)
    printed, _ = explore.script(script, 1, "virtual", [addon])
    # Initiation (1), response (2), and at least six packets of transport data (4).
    counts = {kind: int(count) for count, kind in (line.split() for line in printed.splitlines())}
    assert counts["1"] == counts["2"] == 1
    assert counts["4"] >= 6


def test_a_script_that_needs_no_add_on_does_not_see_one(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("command -v tshark || echo none; exit 3\n")
    assert explore.script(script, 1, "virtual") == ("none\n", 3)


def test_the_real_clock_measures_too_and_promises_nothing(tmp_path: Path) -> None:
    record = execute(
        tmp_path / "run", plan(["wireguard"], '["low"]', ["ping:count=20", "iperf3-tcp:duration=1"], clock="real")
    )
    assert set(verdicts(record).values()) == {("ok", "")}
    assert values(record, "throughput", "wireguard")[0] > 1e5
    assert record.manifest["fingerprint"] == "no promise"


def test_a_vm_stays_below_its_memory() -> None:
    # The largest child so far: a VM of one of the tests before. The unit is KiB on Linux.
    assert 0 < resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1.5 * (1 << 20)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_running_needs_no_root(tmp_path: Path) -> None:
    nobody = 65534
    home = Path("/tmp") / f"tunbench-test-{os.getpid()}"
    try:
        shutil.copytree(BASE.folder, home / "tunbench" / "images" / BASE.folder.name)
        shutil.copytree(Path(__file__).parents[2] / "src", home / "src")
        for path in [home, *home.rglob("*")]:
            os.chown(path, nobody, nobody)
        packages = next(path for path in sys.path if path.endswith("site-packages"))
        shutil.copytree(packages, home / "packages", symlinks=False)
        environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(home), "HOME": str(home)}
        environment["PYTHONPATH"] = f"{home}/src:{home}/packages"
        done = subprocess.run(
            ["setpriv", f"--reuid={nobody}", "--clear-groups", "/usr/bin/python3", "-m", "tunbench", "run", "smoke"],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    finally:
        shutil.rmtree(home, ignore_errors=True)
