"""What a lab could leave behind on this machine, looked at before and after."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

MARK = "TUNBENCH_TESTED_BY"
"""In the environment of all that these tests start, by which it is told from what others run on this machine."""

os.environ[MARK] = str(os.getpid())


def traces() -> dict[str, list[str]]:
    """Everything of it, by kind."""
    commands = {
        "interfaces": ["ip", "-br", "link"],
        "addresses": ["ip", "-br", "address"],
        "routes": ["ip", "route", "show", "table", "all"],
        "rules": ["ip", "rule"],
        "qdiscs": ["tc", "qdisc", "show"],
        "namespaces": ["ip", "netns"],
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
    # A namespace is held by one of these, or by a mount.
    found["processes"] = sorted(_our_processes())
    found["files"] = sorted(
        str(path) for folder in ("/run", "/mnt", "/var/run/netns") for path in Path(folder).glob("*")
    )
    return found


def _our_processes() -> Iterator[str]:
    mark = f"{MARK}={os.getpid()}"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_text(errors="replace").split("\0"):
                yield " ".join(words_of(process))
        except OSError:
            continue


def words_of(process: Path) -> list[str]:
    """The words of a command line in /proc, which may name a file by bytes that are no UTF-8. Raises OSError."""
    return os.fsdecode((process / "cmdline").read_bytes()).split("\0")


def that_name(folder: Path) -> list[str]:
    """The command lines of the processes that name a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = " ".join(words_of(process))
        except OSError:
            continue
        if str(folder) in command:
            found.append(command)
    return found
