"""The guest's side of a template: where a VM is saved, and what it takes in once it has been loaded.

It is saved once it has booted, and where its stack takes long to come up, once that is up.

A VM that was not loaded takes the same way: there nothing happens where others are saved, and it goes on at once.
`python3 -m tunbench.runner.template` does so for a script of the shell, whose files it puts beside the runner.
"""

import fcntl
import json
import os
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Any, NoReturn, TextIO

FIXED_HASHES = "PYTHONHASHSEED"
"""The variable without which Python draws a random number before anything can be done about it."""

PORTS = Path("/dev/port")

PANIC_PORT, PANICKED = 0x505, b"\x01"
"""QEMU's device pvpanic, and what a guest tells it: QEMU stops the VM at that very instruction, or goes on, as its
command says. QEMU's docs/specs/pvpanic.rst."""

RANDOM = Path("/dev/urandom")

RNDADDENTROPY, RNDRESEEDCRNG = 0x40085203, 0x5207
"""Ways to feed the kernel's random number generator, and to give it a new key from all that it was fed: random(4)."""

TICK_SECONDS = 0.004
"""CONFIG_HZ is 250 in Debian's kernel, whose ticks are at multiples of that since it was booted."""

CONSOLE, RESTART = Path("/dev/ttyS0"), Path("/proc/sysrq-trigger")

SAVED_IN = "saved in"
"""What a VM prints that was loaded to be tried, before the seconds of its own clock that it took to be saved."""

KEY_BYTES = 32

HANDED_IN = Path("/sys/firmware/qemu_fw_cfg/by_name/opt/tunbench")
"""Where the kernel shows what QEMU was given for the guest."""

PAYLOAD, SECOND_PART = "payload", "second-part"
"""Files, and the key of the guest's random numbers; and files that are not read before the stack is up."""

FILES = Path("/payload")

NEIGHBOURS = 10
"""Entries of which one is too many for the table of neighbours that a kernel begins with: it makes a larger one, with
new random numbers for its hashes (neigh_table_init and ___neigh_create of net/core/neighbour.c)."""

NEW_TABLES = "\n".join(
    [
        "link add name many type veth peer name few",
        *(
            f"neighbour add {network}{number} lladdr 02:00:00:00:00:01 dev many nud permanent"
            for network in ("192.0.2.", "2001:db8::")
            for number in range(1, NEIGHBOURS + 1)
        ),
        "link del many",
    ]
)
"""A batch for ip that fills both tables of neighbours, which all namespaces share and which were there before."""


def begin() -> None:
    """Before the first random number is drawn: a fixed key, without which the kernel would gather noise for long."""
    os.environ.pop(FIXED_HASHES, None)
    _draw_from(bytes(KEY_BYTES))


def save() -> float:
    """Lets the VM be saved here, and returns the seconds of its own clock that this took.

    It begins in the middle between two ticks: where QEMU takes a VM that it has stopped for one that waits for its next
    timer, its clock has jumped to the next tick, and that shows.
    """
    while not 0.4 < time.monotonic() / TICK_SECONDS % 1 < 0.6:
        pass
    began = time.monotonic()
    ports = os.open(PORTS, os.O_WRONLY)
    os.pwrite(ports, PANICKED, PANIC_PORT)
    os.close(ports)
    return time.monotonic() - began


def save_undisturbed() -> float:
    """The same where other processes want the processor: none gets it before the VM is saved."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        return save()
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def take(saved_in: float) -> dict[str, str]:
    """The files that the VM was handed, by their names; from here on its random numbers follow from its own key."""
    subprocess.run(["modprobe", "qemu_fw_cfg"], check=True)
    handed = _handed(PAYLOAD, saved_in)
    _draw_from(bytes.fromhex(handed["key"]))
    subprocess.run(["ip", "-batch", "-"], input=NEW_TABLES, text=True, check=True)
    return dict(handed["files"])


def take_second_part(saved_in: float) -> dict[str, str]:
    """The files that the VM was handed for when its stack is up. Its random numbers go on: they are of the same key."""
    return dict(_handed(SECOND_PART, saved_in)["files"])


def end(line: TextIO) -> NoReturn:
    """Ends the VM as soon as a serial line has taken all that was written to it."""
    termios.tcdrain(line)
    RESTART.write_text("b")
    raise SystemExit


def _handed(name: str, saved_in: float) -> dict[str, Any]:
    """What the VM was handed under a name; one that is to be tried only says how long it took to be saved, and ends."""
    handed: dict[str, Any] = json.loads((HANDED_IN / name / "raw").read_bytes())
    if handed.get("try"):
        _tell_and_end(saved_in)
    return handed


def _tell_and_end(saved_in: float) -> NoReturn:
    with CONSOLE.open("w") as console:
        console.write(f"{SAVED_IN} {saved_in:.9f}\n")
        console.flush()
        end(console)


def _draw_from(key: bytes) -> None:
    """Makes all random numbers that are drawn from here on follow from a key besides what was before."""
    # The generator trusts a key of 32 bytes to be as good as 256 coins.
    with RANDOM.open("wb", buffering=0) as generator:
        fcntl.ioctl(generator, RNDADDENTROPY, struct.pack(f"ii{KEY_BYTES}s", 8 * KEY_BYTES, KEY_BYTES, key))
        fcntl.ioctl(generator, RNDRESEEDCRNG)


def main() -> None:
    """Saves, takes, and puts the files where the shell finds them."""
    begin()
    for name, text in take(save()).items():
        (FILES / name).write_text(text, errors="surrogateescape")


if __name__ == "__main__":
    main()
