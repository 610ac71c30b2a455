"""What is to be seen of the namespace that a native run must not touch: `python -m tests.helpers.host FOLDER COMMAND…`.

It is executed as the first process of namespaces of its own, which are the host of the run: nothing else moves there,
and there is something to lose. It looks, runs the command, looks again, and prints both looks as JSON. The folder is
there as HERE.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

APART = ("unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Before the command: the namespaces that are the host."""

HERE = "/srv/here"

CHECKOUT = Path(__file__).parents[2]
"""What is executed. Where it lies in a folder that the host has anew, it is there again, and cannot be written."""

SETTING = """\
mount -t tmpfs tmpfs /srv && mkdir /srv/here /srv/checkout && mount --bind "$0" /srv/here
mount --bind "$1" /srv/checkout && mount -o remount,bind,ro /srv/checkout
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /mnt
if ! [ -e "$1" ]; then mkdir -p "$1" && mount --bind /srv/checkout "$1"; fi
ip link set lo up
# The host has its addresses of IPv6 at once, and not while something else is tested.
sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
ip link add uplink type veth peer name far && ip link set uplink up && ip link set far up
ip address add 192.0.2.1/24 dev uplink && ip address add 2001:db8::1/64 dev uplink nodad
ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev uplink nud permanent
ip route add default via 192.0.2.9 && ip route add 198.51.100.0/24 via 192.0.2.9 table 77
ip rule add from 192.0.2.1 lookup 77 && ip -6 rule add from 2001:db8::1 lookup 77
tc qdisc add dev uplink root handle 1: tbf rate 100mbit burst 10k latency 10ms
tc qdisc add dev far ingress
tc filter add dev uplink parent 1: protocol ip prio 1 u32 match ip dst 192.0.2.7 flowid 1:1 || true
sysctl -qw net.ipv4.tcp_congestion_control=reno net.ipv4.ip_forward=0 net.ipv4.conf.uplink.rp_filter=2
if command -v nft; then nft add table inet kept; nft add chain inet kept in '{ type filter hook input priority 0; }'; fi
if command -v iptables; then iptables -A INPUT -d 192.0.2.7 -j DROP || true; fi
echo kept >/run/kept
"""

LISTED = {
    "links": ["ip", "-j", "-d", "link"],
    "addresses": ["ip", "-j", "address"],
    "routes": ["ip", "-j", "route", "show", "table", "all"],
    "routes of IPv6": ["ip", "-j", "-6", "route", "show", "table", "all"],
    "rules": ["ip", "-j", "rule"],
    "rules of IPv6": ["ip", "-j", "-6", "rule"],
    "neighbours": ["ip", "-j", "neighbour"],
    "tunnels": ["ip", "-j", "tunnel"],
    "states of IPsec": ["ip", "xfrm", "state"],
    "policies of IPsec": ["ip", "xfrm", "policy"],
    "forwarding of bridges": ["bridge", "-j", "fdb"],
    "namespaces": ["ip", "netns"],
    "qdiscs": ["tc", "-j", "qdisc"],
    "filters": ["sh", "-c", "for link in $(ls /sys/class/net); do tc filter show dev $link; done"],
    "nftables": ["nft", "list", "ruleset"],
    "iptables": ["sh", "-c", "iptables-save | grep -v '^#' | sed 's/\\[.*\\]//'"],
    "ip6tables": ["sh", "-c", "ip6tables-save | grep -v '^#' | sed 's/\\[.*\\]//'"],
    "held namespaces": ["lsns", "-n", "-o", "TYPE,COMMAND"],
}
"""What prints each thing."""

AGES = ("valid_life_time", "preferred_life_time", "expires", "used", "confirmed", "updated", "probes")
"""What changes by itself in what iproute2 prints."""

COUNTERS = ("nf_conntrack_count",)
"""Names below /proc/sys/net that are no settings."""


def look() -> dict[str, Any]:
    """All that a run could change here."""
    seen = {name: printed(argv) for name, argv in LISTED.items() if shutil.which(argv[0])}
    # A neighbour that was learnt comes and goes by itself.
    seen["neighbours"] = [one for one in seen["neighbours"] or [] if "PERMANENT" in one.get("state", [])]
    seen["sysctls"] = dict(sysctls(Path("/proc/sys/net")))
    seen["host name"] = Path("/proc/sys/kernel/hostname").read_text()
    seen["mounts"] = [line.split(" ", 2)[2] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for folder in ("/run", "/tmp", "/mnt", "/dev/shm"):
        seen[f"files in {folder}"] = sorted(str(path) for path in Path(folder).rglob("*"))
    seen["abstract sockets"] = [
        line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if "@" in line
    ]
    seen["processes"] = sorted(path.name for path in Path("/proc").glob("[0-9]*") if int(path.name) != os.getpid())
    seen["own cores"] = sorted(os.sched_getaffinity(0))
    return seen


def printed(argv: list[str]) -> Any:
    """What a command prints, as data where it is JSON, less what ages."""
    # The processes that look are there in each look.
    text = subprocess.run(argv, capture_output=True, text=True).stdout
    try:
        return _ageless(json.loads(text))
    except ValueError:
        return sorted(line.rstrip() for line in text.splitlines() if "lsns" not in line)


def sysctls(folder: Path) -> Iterator[tuple[str, str]]:
    """All settings below a folder that may be read, and their values."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in COUNTERS:
            try:
                yield str(path), path.read_text()
            except OSError:
                continue


def _ageless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ageless(one) for key, one in value.items() if key not in AGES}
    return [_ageless(one) for one in value] if isinstance(value, list) else value


def main(folder: str, *command: str) -> None:
    """Makes the host, and looks at it before and after the command."""
    subprocess.run(["sh", "-ec", SETTING, folder, str(CHECKOUT)], check=True, stdout=sys.stderr)
    before = look()
    status = subprocess.run(command, stdout=sys.stderr).returncode
    print(json.dumps({"status": status, "before": before, "after": look()}))


if __name__ == "__main__":
    main(*sys.argv[1:])


def install_program(path: Path, name: str, script: str = "") -> None:
    """A program of the shell in a folder of PATH."""
    (path / name).write_text(f"#!{shutil.which('sh', path='/bin:/usr/bin')}\n{script}\n")
    (path / name).chmod(0o755)
