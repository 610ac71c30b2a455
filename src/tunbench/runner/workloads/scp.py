"""A file that OpenSSH's scp copies to the server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.shared.file_sums import consistent, read
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS
from tunbench.runner.workloads.shared.server_process import serving

CIPHERS = (
    *("chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com", "aes256-gcm@openssh.com"),
    *("aes128-ctr", "aes256-ctr"),
)

ABOUT = About(
    name="scp",
    summary="scp of OpenSSH copies a file: time to log in, then throughput of the copy",
    options={
        "size": Option("size", "2MB", "bytes of the file", low=1, high=100_000_000),
        "cipher": Option("choice", "default", "OpenSSH's name of the cipher", choices=("default", *CIPHERS)),
    },
    metrics={
        "throughput": Metric(
            "bit/s",
            "size of the file by the time of the copy, logging in apart",
            more_is_better=True,
            main=True,
            followed=True,
            at_a_glance=True,
        ),
        "login": Metric("s", "connecting, key exchange, authentication, and the command true"),
        "copy": Metric("s", "the copy, logging in apart"),
        "duration": Metric("s", "logging in and the copy", main=True, followed=True),
    },
    programs={
        "scp": "openssh-client",
        "ssh": "openssh-client",
        "ssh-keygen": "openssh-client",
        "sshd": "openssh-server",
        "openssl": "openssl",
        "sha256sum": "coreutils",
    },
    version=("ssh", "-V"),
)

PORT = 2222
LOGIN_TIMEOUT = 30.0
"""Seconds that logging in may take."""

COPY_TIMEOUT = 120.0
"""Seconds that the copy may take."""

CLOSE_TIMEOUT = 10.0
"""Seconds in which the server must have noticed that the client has gone."""

SERVER = """\
Port {port}
ListenAddress {host}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {user}.pub
AuthenticationMethods publickey
PermitRootLogin prohibit-password
# The key lies in a folder of the lab and not in the user's.
StrictModes no
Compression no
UseDNS no
PrintLastLog no
Subsystem sftp internal-sftp
"""

CLIENT = """\
Host server
    HostName {address}
    HostKeyAlias server
    Port {port}
    User root
    IdentityFile {folder}/user
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile none
    StrictHostKeyChecking yes
    BatchMode yes
    Compression no
    # scp takes the connection of the command before it.
    ControlMaster auto
    ControlPath {folder}/control
    ControlPersist yes
{ciphers}"""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 1.5 + float(options["size"]) * 6e-8


def execute(trial: Trial) -> None:
    """Logs in once, copies the file, and compares what arrived with what was sent."""
    port = trial.port(PORT)
    here, there = trial.client.home / f"scp-{port}", trial.server.home / f"scp-{port}"
    sent, arrived = here / "sent.bin", there / "arrived.bin"
    try:
        _make_keys(trial, here, there)
        # What is random cannot be compressed.
        trial.client.run("openssl", "rand", "-out", str(sent), str(trial.options["size"]))
        with _server(trial, here, there, port):
            configured = ("-F", str(_configuration(trial, here, port)))
            try:
                login = _timed(trial, LOGIN_TIMEOUT, "ssh", *configured, "server", "true")
                copy = _timed(trial, COPY_TIMEOUT, "scp", "-q", *configured, str(sent), f"server:{arrived}")
            finally:
                trial.client.try_run("ssh", "-q", *configured, "-O", "exit", "server")
        sums = trial.client.run("sha256sum", str(sent)) + trial.server.run("sha256sum", str(arrived))
    finally:
        trial.client.try_run("rm", "-rf", str(here))
        trial.server.try_run("rm", "-rf", str(there))
    trial.outputs["sha256sum.txt"] = sums
    trial.samples += parse(sums, int(trial.options["size"]), login, copy)


def _make_keys(trial: Trial, here: Path, there: Path) -> None:
    """A key of the user, one of the server, and what the client knows of the server's."""
    for node, folder, name in ((trial.client, here, "user"), (trial.server, there, "host")):
        node.run("mkdir", "-p", str(folder))
        node.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name))
    trial.client.run("sed", "s/^/server /", str(there / "host.pub"), into=here / "known_hosts")


def _configuration(trial: Trial, here: Path, port: str) -> Path:
    """The client's configuration: addresses of IPv6 need no brackets in it."""
    file = here / "ssh_config"
    cipher = trial.options["cipher"]
    ciphers = "" if cipher == "default" else f"    Ciphers {cipher}\n"
    trial.client.write(file, CLIENT.format(address=trial.target, folder=here, port=port, ciphers=ciphers))
    return file


@contextmanager
def _server(trial: Trial, here: Path, there: Path, port: str) -> Iterator[None]:
    node, file = trial.server, there / "sshd_config"
    host = trial.overlays[node.name].local_host
    node.write(file, SERVER.format(folder=there, host=host, port=port, user=here / "user"))
    # Where sshd keeps a process that has no privileges; Debian makes the folder as the service starts.
    node.run("mkdir", "-p", "/run/sshd")
    # sshd starts itself again for each connection, and must know where it is.
    sshd = node.ask("sh", "-c", "command -v sshd").stdout.strip() or "/usr/sbin/sshd"
    with serving(node, sshd, "-D", "-e", "-f", str(file), log="sshd", port=port):
        yield
        # The process of a connection is in a session of its own: it ends as the connection does.
        node.until("sh", "-c", f'test -z "$(ss -Htn sport = :{port})"', timeout=CLOSE_TIMEOUT)


def _timed(trial: Trial, limit: float, *argv: str) -> float:
    """Seconds that a command of the client takes. Raises WorkloadFailed where it fails, or is not done in time."""
    began = now()
    result = trial.client.try_run(*argv, timeout=limit)
    took = now() - began
    if result.stderr:
        trial.outputs[f"{argv[0]}.stderr"] = result.stderr
    if result.status is None:
        raise WorkloadFailed(f"{argv[0]} did not end within {limit:g} s")
    if result.status != 0:
        raise WorkloadFailed(f"{argv[0]} ended with status {result.status}: {result.stderr.strip()[-LAST_WORDS:]}")
    return took


def parse(sums: str, size: int, login: float, copy: float) -> list[Sample]:
    """The samples of a copy whose two ends are the same by sha256sum; times in seconds. Raises WorkloadFailed."""
    consistent(read(sums))
    return [
        Sample("throughput", 8 * size / copy),
        Sample("login", login),
        Sample("copy", copy),
        Sample("duration", login + copy),
    ]
