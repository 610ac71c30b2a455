"""A native run leaves the host's namespace as it was: all of its network, its files, mounts and processes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.host import APART, HERE
from tests.helpers.measuring import plan, verdicts
from tunbench.journal.readers.registry import record_of

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
]

STACKS = ["none", "openvpn+vxlan", "macvlan", "wireguard", "wireguard:impl=boringtun"]


def looked_at(folder: Path, *command: str) -> dict[str, Any]:
    """A host of its own before and after a command, which finds the folder as HERE; and the status of that."""
    look = [sys.executable, "-m", "tests.helpers.host", str(folder), *command]
    done = subprocess.run([*APART, *look], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    found["stderr"] = done.stderr
    return found


def changed(found: dict[str, Any]) -> set[str]:
    """What differs between the two looks."""
    return {name for name, value in found["before"].items() if found["after"][name] != value}


@pytest.mark.reliability
def test_a_run_with_several_stacks_changes_nothing_of_the_host(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    text = plan(STACKS, '["baseline"]', ["ping:count=5", "iperf3-tcp:duration=1"], clock="real")
    (tmp_path / "plan.toml").write_text(text.replace('"vm"', '"native"'))
    run = ["run", f"{HERE}/plan.toml", "--out", f"{HERE}/run"]
    found = looked_at(tmp_path, sys.executable, "-m", "tunbench", *run)
    assert changed(found) == set(), found["stderr"]
    record = record_of(tmp_path / "run")
    told = {stack: verdict for (stack, _), (verdict, _) in verdicts(record).items()}
    assert set(told) == {*STACKS, "none:underlay=ethernet"}
    assert not record.interrupted
    assert {"failed"} & set(told.values()) == set()
    assert found["before"]["sysctls"]["/proc/sys/net/ipv4/tcp_congestion_control"] == "reno\n"
    record_property(
        "reliability",
        f"{len(STACKS)} stacks: {len(found['before'])} lists, from links and routes to mounts and processes, and "
        f"{len(found['before']['sysctls'])} sysctls of the host are what they were",
    )


def test_a_run_behind_gateways_changes_nothing_of_the_host(tmp_path: Path) -> None:
    line = 'name = "line", link = { mtu = 1400 }, nat = "port-restricted", carrier = "full-cone", firewall = "no-udp"'
    access = f'{{ a = {{ {line}, icmp = "filtered", fragments = "dropped", mss = "path", dscp = "cleared" }} }}'
    text = plan(["none"], '["baseline"]', ["ping:count=5"], clock="real", access=access)
    (tmp_path / "plan.toml").write_text(text.replace('"vm"', '"native"'))
    run = ["run", f"{HERE}/plan.toml", "--out", f"{HERE}/run"]
    found = looked_at(tmp_path, sys.executable, "-m", "tunbench", *run)
    assert changed(found) == set(), found["stderr"]
    assert verdicts(record_of(tmp_path / "run"))["none", "ping:count=5"] == ("ok", "")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("true", set()),
        ("ip link add trace type veth", {"links", "sysctls"}),
        ("ip address add 192.0.2.5/32 dev lo", {"addresses", "routes"}),
        ("ip route add 203.0.113.0/24 via 192.0.2.9 table 78", {"routes"}),
        ("ip rule add from 192.0.2.3 lookup 78", {"rules"}),
        ("ip -6 rule add from 2001:db8::3 lookup 78", {"rules of IPv6"}),
        ("ip neighbour add 192.0.2.8 lladdr 02:00:00:00:00:08 dev uplink nud permanent", {"neighbours"}),
        ("tc qdisc replace dev far root pfifo limit 7", {"qdiscs"}),
        ("sysctl -qw net.ipv4.conf.all.forwarding=1", {"sysctls"}),
        ("hostname trace", {"host name"}),
        ("touch /run/trace", {"files in /run"}),
        ("mkdir /tmp/trace", {"files in /tmp"}),
        ("mount -t tmpfs trace /mnt", {"mounts"}),
        ("rm /run/kept", {"files in /run"}),
        ("setsid sleep 60 >/dev/null 2>&1 &", {"processes"}),
        ("setsid unshare --net sleep 60 >/dev/null 2>&1 & sleep 0.5", {"processes", "held namespaces"}),
    ],
)
def test_what_a_run_could_change_would_be_seen(command: str, what: set[str], tmp_path: Path) -> None:
    seen = changed(looked_at(tmp_path, "sh", "-c", command))
    assert what <= seen, "and a link, for example, changes more than the list of links"
    assert bool(what) == bool(seen)
