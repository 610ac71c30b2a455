"""Makes nodes: a process holds the namespaces of each, and they vanish with it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tunbench.runner.node import limits
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import HOME, ROOT_NODE, Node
from tunbench.runner.node.pinning import Pins
from tunbench.runner.node.shell import SOON, Process, Result, Shell, wait_until

NAMESPACES_TIMEOUT = 10.0
"""Seconds in which the namespaces of a node must be there."""

MOUNTS = """\
node-run /run tmpfs
node-tmp /tmp tmpfs
node-var-lib /var/lib tmpfs
overlay /etc overlay lowerdir=/etc,upperdir={home}/.etc,workdir={home}/.work
node-sys /sys sysfs
node-proc /proc proc
"""
"""What is private to a node, as an fstab: daemons with fixed paths can run once on each."""

# A program that asks for the name of its own host finds it here, and asks no name server.
HOSTS = """\
127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
127.0.1.1 {name}
"""

# The first word of /proc/self/stat is read before the node gets a /proc of its own: the process as the lab sees it.
HOLD = """\
set -e
read -r pid rest </proc/self/stat
mount --all --fstab {home}/.fstab
echo {name} >/proc/sys/kernel/hostname
{bound}echo $pid >{home}/.pid
exec sleep infinity
"""


@contextmanager
def running_nodes(
    names: Sequence[str], name_server: str, shell: Shell, events: Events, pins: Pins | None = None
) -> Iterator[dict[str, Node]]:
    """Nodes of these names, and the root of the lab as `ROOT_NODE`; ended, with all that runs in them, on leaving.

    With `pins` what runs on a node runs on its cores. Raises CommandFailed where a node's namespaces cannot be had.
    """
    lab = Node(ROOT_NODE, shell, events)
    holders: dict[str, Process] = {}
    try:
        for name in names:
            holders[name] = _hold(name, name_server, shell)
        enters = {name: _entrance(name, holder, pins) for name, holder in holders.items()}
        lab.shell.run(["ip", "-batch", "-"], NAMESPACES_TIMEOUT, _attachments(enters))
        lab.note("\n".join(f"ip netns add {name}; mkdir -p {HOME / name}" for name in names))
        yield {ROOT_NODE: lab} | {name: Node(name, shell, events, enter) for name, enter in enters.items()}
    finally:
        for holder in holders.values():
            holder.kill()
        # What fills the lab with processes takes a moment to end; the names are in the lab's own memory.
        with suppress(OSError):
            shell.run(["ip", "-batch", "-"], NAMESPACES_TIMEOUT, "".join(f"netns del {name}\n" for name in holders))


def _hold(name: str, name_server: str, shell: Shell) -> Process:
    home = HOME / name
    for folder in (home / ".etc", home / ".work"):
        folder.mkdir(parents=True)
    (home / ".etc" / "resolv.conf").write_text(f"nameserver {name_server}\n")
    (home / ".etc" / "hosts").write_text(HOSTS.format(name=name))
    (home / ".fstab").write_text(MOUNTS.format(home=home))
    most = limits.processes(os.uname().release)
    bound = f"echo {most} >/proc/sys/kernel/pid_max\n" if most else ""
    script = HOLD.format(name=name, home=home, bound=bound)
    return shell.start(
        ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", script], _log(name)
    )


def _entrance(name: str, holder: Process, pins: Pins | None) -> list[str]:
    """The words before a command that make it run on the node, once its namespaces are there."""
    pid = HOME / name / ".pid"

    def settled() -> bool:
        return (pid.exists() and pid.read_text().endswith("\n")) or holder.poll() is not None

    wait_until(settled, NAMESPACES_TIMEOUT, SOON)
    if not pid.exists():
        result = Result(holder.poll(), "", _log(name).read_text())
        raise CommandFailed(f"making the namespaces of the node {name}", result)
    words = ["nsenter", "--target", pid.read_text().strip(), "--mount", "--net", "--uts", "--pid", "--"]
    return [*words, "taskset", "-c", pins.of(name)] if pins else words


def _attachments(enters: Mapping[str, Sequence[str]]) -> str:
    """The batch that gives the namespaces their names, for `ip netns` and `ip -n`."""
    return "".join(f"netns attach {name} {enter[2]}\n" for name, enter in enters.items())


def _log(name: str) -> Path:
    return HOME / f"{name}.log"
