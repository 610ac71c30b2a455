"""Whether a worker can execute shards of a run so that they are equal to the byte, or why it cannot."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tunbench.labs.vm import boot
from tunbench.plain_text import line

VM_BYTES = boot.most_bytes()
"""The memory that a thread of a worker must have, unless a stack needs more: a shard is a VM."""

ROOM_BYTES = 512 << 20
"""Room on the disk of its cache that a worker must have besides what it is sent: for a template."""


class Fitness(NamedTuple):
    """What a worker said of itself, how many shards it takes at a time, and why it is not used; empty where it is.

    Where its host is `short` of memory, that may change.
    """

    address: str
    threads: int
    said: Mapping[str, Any]
    refusal: str = ""
    short: bool = False

    @property
    def host(self) -> str:
        """The host, as it calls itself."""
        return line(str(self.said.get("host", "")), 100)


def judged(
    greetings: Mapping[str, Any],
    threads: Mapping[str, int],
    here: Mapping[str, Any],
    to_send: Mapping[str, int],
    used: Iterable[Fitness] = (),
    vm_bytes: int = VM_BYTES,
) -> list[Fitness]:
    """Judges workers by what they said, or by the error that came in its place.

    `here` is what this machine says of itself, `to_send` how many bytes each worker lacks, and `used` are those that
    take part already: workers of one host share its memory, of which each VM takes `vm_bytes` at most.
    """
    left: dict[str, int] = defaultdict(int)
    for said in greetings.values():
        if isinstance(said, Mapping):
            left[str(said.get("host"))] = int(said.get("memory", -1))
    for one in used:
        host = str(one.said.get("host"))
        left[host] = max(left[host] - one.threads * vm_bytes, 0) if left[host] >= 0 else left[host]
    found = []
    for address, said in greetings.items():
        if not isinstance(said, Mapping):
            found.append(Fitness(address, threads[address], {}, _error(said)))
            continue
        host, needed = str(said.get("host")), threads[address] * vm_bytes
        refusal = _refusal(said, here, to_send.get(address, 0))
        lacks = "" if refusal else _memory(left[host], needed, threads[address])
        if not refusal and not lacks and left[host] >= 0:
            left[host] -= needed
        found.append(Fitness(address, threads[address], said, refusal or lacks, bool(lacks)))
    return found


def _error(error: object) -> str:
    if isinstance(error, ModuleNotFoundError) and str(error.name).split(".")[0] == "tunbench":
        return "Tunbench is not installed there, or is another version; install the same as here"
    return f"does not answer as a worker does: {type(error).__name__}: {line(str(error), 200)}"


def _refusal(said: Mapping[str, Any], here: Mapping[str, Any], to_send: int) -> str:
    """Why a worker that answered is not used, but for its memory."""
    for key, name in (("tunbench", "Tunbench"), ("dask", "Dask distributed")):
        if said.get(key) != here[key]:
            return f"has {name} {line(str(said.get(key)), 60)}, and this machine {here[key]}; install the same there"
    if not said.get("qemu"):
        return "QEMU is not installed there; install it with: apt-get install qemu-system-x86"
    if here["qemu"] and said["qemu"] != here["qemu"]:
        return f"has {line(str(said['qemu']), 80)}, and this machine {here['qemu']}, which counts otherwise"
    if said.get("unusable"):
        return line(str(said["unusable"]), 200)
    room, wanted = int(said.get("room", 0)), to_send + ROOM_BYTES
    if room < wanted:
        return f"has room for {room >> 20} MiB in its cache, and {wanted >> 20} MiB are needed; make room there"
    return ""


def _memory(left: int, needed: int, threads: int) -> str:
    if left < 0 or left >= needed:
        return ""
    return (
        f"has {max(left, 0) >> 20} MiB of memory for VMs, and {threads} shard{'s'[: threads - 1]} at a time take up to "
        f"{needed >> 20} MiB; start it with fewer --nthreads, or free some"
    )
