"""What a worker says of itself: what decides whether its numbers are those of the machine where the run was begun."""

import asyncio
import functools
import hashlib
import shutil
import socket
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tunbench
from tunbench.executors.cluster.on_worker_task import SHARD_FOLDER
from tunbench.labs.lab import LabError
from tunbench.labs.vm import qemu
from tunbench.plan.cache_folder import cache

MEMORY, PROCESSES = Path("/proc/meminfo"), Path("/proc")

CODE = (".py", ".toml")
"""What of the package decides how a worker reads a plan and executes a shard."""


async def greeting() -> dict[str, Any]:
    """All of it; a worker goes on with what else it has to do meanwhile."""
    return await asyncio.to_thread(said_here)


def said_here() -> dict[str, Any]:
    """All of it."""
    return {
        "tunbench": f"{tunbench.__version__} {code_digest()[:12]}",
        "dask": version("distributed"),
        "qemu": _qemu(),
        "host": socket.gethostname(),
        "memory": _memory(),
        **_cache(),
    }


@functools.cache
def code_digest() -> str:
    """SHA-256 over the code of Tunbench that is installed here."""
    whole, package = hashlib.sha256(), Path(tunbench.__file__).parent
    for path in sorted(path for path in package.rglob("*") if path.suffix in CODE):
        content = path.read_bytes()
        whole.update(f"{path.relative_to(package)} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def _qemu() -> str:
    try:
        return qemu.version()
    except LabError:
        return ""


def _memory() -> int:
    """Bytes that are free for programs, as proc(5) estimates them, or that workers' VMs have; -1 where not known.

    What those VMs take is counted by the threads of the workers, whichever run they are of.
    """
    free = _bytes_in(MEMORY, "MemAvailable")
    return free if free < 0 else free + sum(map(_bytes_of_vm, PROCESSES.glob("[0-9]*")))


def _bytes_of_vm(process: Path) -> int:
    """The memory of its own that a process has which is a VM of a worker; 0 of any other one."""
    try:
        is_one = f"/{SHARD_FOLDER}".encode() in (process / "cmdline").read_bytes()
        return max(_bytes_in(process / "status", "RssAnon"), 0) if is_one else 0
    except OSError:
        # It has ended meanwhile.
        return 0


def _bytes_in(file: Path, name: str) -> int:
    """A value of a file of proc(5) that has one in kB on each line; -1 where it has none of that name."""
    for text in file.read_text().splitlines() if file.exists() else ():
        if text.startswith(f"{name}:"):
            return int(text.split()[1]) << 10
    return -1


def _cache() -> dict[str, Any]:
    """Where its cache is, by a name that two workers share who share it; room in bytes, and why it cannot be used."""
    folder = cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = folder.stat()
        return {
            "cache": f"{socket.gethostname()} {found.st_dev} {found.st_ino}",
            "room": shutil.disk_usage(folder).free,
            "unusable": "",
        }
    except OSError as error:
        return {"cache": "", "room": 0, "unusable": f"cannot write to {folder}: {error.strerror}"}
