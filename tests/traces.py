"""What a lab could leave behind on this machine, looked at before and after."""

import subprocess
from collections.abc import Iterator
from pathlib import Path


def traces() -> dict[str, list[str]]:
    """Everything of it, by kind."""
    commands = {
        "interfaces": ["ip", "-br", "link"],
        "addresses": ["ip", "-br", "address"],
        "routes": ["ip", "route", "show", "table", "all"],
        "rules": ["ip", "rule"],
        "qdiscs": ["tc", "qdisc", "show"],
        "namespaces": ["ip", "netns"],
        "held namespaces": ["lsns", "-n", "-o", "TYPE,NPROCS,COMMAND"],
        "sysctls": [
            "sh",
            "-c",
            "sysctl -a 2>/dev/null | grep -E '^net\\.(ipv4|ipv6|core)' | grep -v -E 'random|stable'",
        ],
    }
    found = {
        name: sorted(subprocess.run(argv, capture_output=True, text=True).stdout.splitlines())
        for name, argv in commands.items()
    }
    found["mounts"] = sorted(Path("/proc/self/mounts").read_text().splitlines())
    found["processes"] = sorted(_lab_processes())
    found["files"] = sorted(
        str(path) for folder in ("/run", "/mnt", "/var/run/netns") for path in Path(folder).glob("*")
    )
    # The processes that look are there in each look.
    found["held namespaces"] = [line for line in found["held namespaces"] if "unshare" in line or "sleep" in line]
    return found


def _lab_processes() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if (
            "tunbench.runner" in words
            or words[0] in ("iperf3", "tcpdump", "openvpn", "unshare")
            or words[:2] == ["sleep", "infinity"]
        ):
            yield " ".join(words)


def that_name(folder: Path) -> list[str]:
    """The command lines of the processes that name a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if str(folder) in command:
            found.append(command)
    return found
