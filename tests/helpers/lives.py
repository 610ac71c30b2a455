"""Stacks that live from their keys to their end, on nodes that answer as real ones do."""

from pathlib import Path

from tests.helpers.fakes import Call, FakeEvents, FakeShell
from tunbench.plan.axes.stack import parse
from tunbench.runner import stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.access import NO_GATEWAYS, Accesses
from tunbench.runner.network import underlay
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.tunnels.shared import secrets

SECRET = "sEcReTsEcReTsEcReTsEcReTsEcReTsEcReTsEcReT0="
PUBLIC = "pUbLiC"


def begin_openssl(call: Call) -> Result:
    """As openssl does: the private key goes into a file, and nothing is printed."""
    key = Path(call.argv[call.argv.index("-keyout") + 1])
    key.parent.mkdir(exist_ok=True)
    key.write_text(SECRET)
    return Result(0, "", "")


def make_key(call: Call) -> Result:
    """As Hyprspace does: the private key goes into a file, and the identity is printed."""
    Path(call.argv[call.argv.index("--private-key-file") + 1]).write_text(SECRET)
    return Result(0, PUBLIC, "")


def fill_in(call: Call) -> Result:
    """As the shell does: the template with the key in its place is printed."""
    template, key = (Path(path).read_text() for path in call.argv[-2:])
    return Result(0, template.replace(secrets.PLACEHOLDER, key.strip()), "")


def lived(spelling: str, shape: str = "pair", accesses: Accesses = NO_GATEWAYS) -> tuple[FakeEvents, FakeShell]:
    """A stack that was prepared, brought up and taken down in a topology."""
    given = iter(["100.64.0.1\n", "100.64.0.2\n"])
    given_by_netbird = iter(["10.10.0.1\n", "10.10.0.2\n"])
    shell = FakeShell(
        {
            "preauthkeys create": SECRET + "\n",
            "headscale-0.sock ip -4": lambda _: Result(0, next(given), ""),
            "netbird-0.sock --ipv4": lambda _: Result(0, next(given_by_netbird), ""),
            # What a control plane answers to who may ask it.
            "personal_access_token": SECRET + "\n",
            "setup-keys key": SECRET + "\n",
            "hyprspace keygen": make_key,
            "initmoon": f'{{"signingKey_SECRET": "{SECRET}"}}\n',
            "cut -c 1-10": "aDdReSs\n",
            "zerotier-0-address": "aDdReSs000001\n",
            "s/^Address: //p": "400::1\n",
            "cut -d :": "400::\n",
            "enrollment-keys token": SECRET + "\n",
            "wg genkey": SECRET + "\n",
            "wg pubkey": PUBLIC + "\n",
            "containerID": "containerd://c0ffee\n",
            "cgroup.procs": "4242\n",
            "openssl req": begin_openssl,
            "openssl rand": SECRET + "\n",
            f'printf "s/{secrets.PLACEHOLDER}': fill_in,
        }
    )
    events = FakeEvents()
    roles = stack.roles(spelling)
    under = underlay.of(
        *(parse(spelling).underlay, topology.read(shape)),
        roles=roles,
        accesses=accesses,
        of_global_scope=stack.of_global_scope(spelling),
    )
    endpoints = [Node(name, shell, events, ["nsenter", "--target", name, "--"]) for name in under.endpoints]
    nodes = [*(Node(role, shell, events, ["nsenter", "--"]) for role in under.roles), *endpoints]
    built = stack.build(spelling, under.endpoints, under.topology, under.roles, under.closed)
    stack.prepare(built, nodes)
    with stack.up(built, nodes):
        events.told.append({"event": "command", "shell": "# up"})
    return events, shell


def transcript(events: FakeEvents, home: Path) -> str:
    lines = [
        one["shell"] if one["event"] == "command" else f"# {one['path']}\n{one['text'].rstrip()}\n#"
        for one in events.told
    ]
    return "\n".join(lines).replace(str(home), "/mnt/lab") + "\n"
