"""Downloads over QUIC: how long connections take, then how fast a file comes, and what is lost of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.tunnel import Needs, Sources
from tunbench.runner.node import python
from tunbench.runner.node.json_output import tables, value_at
from tunbench.runner.node.node import ROOT_NODE, Node
from tunbench.runner.probes.shared import processor_time
from tunbench.runner.tunnels.shared import certificates
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.quic import line_moments, programs, report
from tunbench.runner.workloads.quic.programs import IMPLEMENTATIONS, NGTCP2, QUINN, Implementation, Served
from tunbench.runner.workloads.quic.report import parse
from tunbench.runner.workloads.shared import file_sums
from tunbench.runner.workloads.shared.server_process import serving

ALGORITHMS = tuple(dict.fromkeys(name for one in IMPLEMENTATIONS.values() for name in one.congestion))

ABOUT = About(
    name="quic",
    summary="QUIC by ngtcp2 or quinn: handshake and first byte of each connection, then a download, and what it lost",
    options={
        "size": Option("size", "10MB", "bytes of the download", low=1, high=1_000_000_000),
        "connections": Option(
            "count", "10", "connections, one after the other, of which each gets a byte", low=1, high=1000
        ),
        "congestion": Option("choice", "cubic", "congestion control of the server", choices=ALGORITHMS),
        "impl": Option("choice", "ngtcp2", "who speaks QUIC at both ends", choices=tuple(IMPLEMENTATIONS)),
    },
    metrics={
        "throughput": Metric(
            "bit/s",
            "bytes of the download by the time from the client's first packet until it had all",
            more_is_better=True,
            main=True,
            followed=True,
            at_a_glance=True,
        ),
        "handshake": Metric("s", "from a client's first packet until its handshake is over", main=True, followed=True),
        "first-byte": Metric("s", "from a client's first packet until the first byte of an answer"),
        "download-cost": Metric(
            "s/B",
            "busy time of both ends and what stands between them while the download's client runs, for a byte of it",
            question=Question.COSTLY,
        ),
        "retransmits": Metric(
            "count",
            "packets that the server took for lost, of a second download that it logs",
            question=Question.FAST,
        ),
    },
    programs={"openssl": "openssl", "sha256sum": "coreutils"},
    sources=Sources({"gtlsclient": "ngtcp2-client", "gtlsserver": "ngtcp2-server"}, addons=(NGTCP2,), recipes=(QUINN,)),
)

PORT = 4433

DOWNLOAD_TIMEOUT = 300.0
"""Seconds that a download may take."""

BYTE, OBJECT, OUT = "byte.bin", "object.bin", "output.bin"

COUNTED = """awk '
{ whole = /}}$/ }
/"transport:packet_sent"/ { sent++ }
/"recovery:packet_lost"/ { kind = "lost" }
/"transport:packet_sent"/ && /"frames":\\[{"frame_type":"ping"},{"frame_type":"padding"}\\]/ { kind = "probe" }
kind { match($0, /"packet_type":"[^"]*"/); type = substr($0, RSTART + 15, RLENGTH - 16)
  match($0, /"packet_number":[0-9]+/); print kind, type, substr($0, RSTART + 16, RLENGTH - 16); kind = "" }
END { print whole ? "sent " sent + 0 : "and is cut off" }' | sort -r"""
"""What picks from a qlog how many packets were sent, which were lost, and which probed the path's MTU."""

USUAL = 50e6
"""Bits a second by which the time of a download is estimated."""


IPV4, IPV6, LEAST = 20, 40, 8 + 1 + 1 + 16
"""Bytes of headers: of IP; then of UDP, the first byte and the shortest packet number of QUIC, and its AEAD's tag.

RFC 768; RFC 9000, section 17.3.1; RFC 9001, section 5.3.
"""


class Carried(NamedTuple):
    """Bytes and packets that arrived at an interface, and the bytes of each that can be part of no file."""

    size: int
    packets: int
    headers: int

    def most_of_files_since(self, before: "Carried") -> int:
        """The bytes of files that can have arrived since then."""
        return self.size - before.size - self.headers * (self.packets - before.packets)


def needs(options: Options) -> Needs:
    """What it needs beyond the base image."""
    return IMPLEMENTATIONS[str(options["impl"])].needs


def check(options: Options, given: Mapping[str, str]) -> None:
    """Raises ValueError where the programs do not have the congestion control."""
    known = IMPLEMENTATIONS[str(options["impl"])].congestion
    if options["congestion"] not in known:
        raise ValueError(
            f"{options['impl']} has no congestion control {options['congestion']}: it has {', '.join(known)}"
        )


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 1.0 + 0.05 * float(options["connections"]) + _downloads(options) * 8 * float(options["size"]) / USUAL


def _downloads(options: Options) -> int:
    return 1 + IMPLEMENTATIONS[str(options["impl"])].logs


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: keys, each connection, and each byte."""
    return 1.0 + 0.1 * float(options["connections"]) + _downloads(options) * 1e-7 * float(options["size"])


def execute(trial: Trial) -> None:
    """Connects so often, then downloads once in quiet, and once more while the server logs."""
    port, options = trial.port(PORT), trial.options
    one = IMPLEMENTATIONS[str(options["impl"])]
    here, there = trial.client.home / f"quic-{port}", trial.server.home / f"quic-{port}"
    try:
        served = _prepared(trial, here, there)
        with _serving(trial, served):
            failure = _connections(trial, one, served, here)
            clock = processor_time.clock(trial.client.machine)
            took = _download(trial, one, served, here, kept=not one.logs)
            busy = processor_time.between(clock, processor_time.clock(trial.client.machine)).total
        size = int(options["size"])
        trial.samples.insert(0, Sample("throughput", 8 * size / took))
        trial.samples.append(Sample("download-cost", busy / size, node=ROOT_NODE))
        if one.logs:
            with _serving(trial, served, log_folder=there / "log"):
                _download(trial, one, served, here, kept=True)
            trial.samples.append(Sample("retransmits", _lost(trial, there / "log")))
    finally:
        trial.client.try_run("rm", "-rf", str(here))
        trial.server.try_run("rm", "-rf", str(there))
    if failure:
        raise WorkloadFailed(failure)


def _prepared(trial: Trial, here: Path, there: Path) -> Served:
    """The folders, files, certificate and programs. Raises CommandFailed."""
    server, overlay, root = trial.server, trial.overlays[trial.server.name], there / "root"
    for node, folder in ((trial.client, here / "got"), (server, root), (server, there / "log")):
        node.run("mkdir", "-p", str(folder))
    trial.client.write(here / "line_moments.py", python.source(line_moments))
    for name, size in ((BYTE, "1"), (OBJECT, str(trial.options["size"]))):
        # What is random is nobody's but this server's.
        server.run("openssl", "rand", "-out", str(root / name), size)
    authority = certificates.authority(server, there / "authority")
    pair = certificates.issue(server, authority, there / "server", "serverAuth", address=overlay.address)
    server.run("openssl", "x509", "-in", str(authority.certificate), "-outform", "DER", "-out", str(there / "ca.der"))
    return Served(overlay.local_host, overlay.host, overlay.address, trial.port(PORT), root, pair, there / "ca.der")


@contextmanager
def _serving(trial: Trial, served: Served, log_folder: Path | None = None) -> Iterator[None]:
    one = IMPLEMENTATIONS[str(trial.options["impl"])]
    command = one.server(served, str(trial.options["congestion"]), log_folder)
    with serving(trial.server, *command, log=f"quic-{served.port}", port=served.port, proto="udp"):
        yield


def _connections(trial: Trial, one: Implementation, served: Served, here: Path) -> str:
    """Gets a byte by each connection: why some failed, if any. Raises WorkloadFailed."""
    count = int(trial.options["connections"])
    limit = programs.HANDSHAKE_TIMEOUT + 5
    command = one.client(served, BYTE, None, False)
    text = _run(trial.client, here, count, limit, one.marks.any, command)
    trial.outputs["connections.txt"] = text
    found, failure = parse(text, one.marks, count)
    trial.samples += found
    if failure and not found:
        raise WorkloadFailed(failure)
    return failure


def _run(node: Node, here: Path, count: int, limit: float, pattern: str, command: list[str]) -> str:
    """Runs the client so often; what was told of it."""
    program, out = here / "line_moments.py", here / "got" / OUT
    result = node.try_run(
        *(*node.python, str(program), str(count), f"{limit:g}", pattern, str(out), *command),
        timeout=count * (limit + 1) + 20,
    )
    return result.stdout + result.stderr


def _download(trial: Trial, one: Implementation, served: Served, here: Path, kept: bool) -> float:
    """Seconds until everything has arrived; what is `kept` is as it was sent. Raises WorkloadFailed."""
    client, size = trial.client, int(trial.options["size"])
    command = one.client(served, OBJECT, here / "got" if kept else None, True)
    before = _carried(trial)
    text = _run(client, here, 1, DOWNLOAD_TIMEOUT, one.marks.any, command)
    trial.outputs["logged.txt" if kept and one.logs else "download.txt"] = text
    # gtlsclient ends well also where nothing came.
    if (most := _carried(trial).most_of_files_since(before)) < size:
        raise WorkloadFailed(f"at most {most} B of the file can have arrived, of {size} B; {report.ending(text)}")
    if kept:
        got = here / "got" / (OUT if one.prints else OBJECT)
        sums = client.run("sha256sum", str(got)) + trial.server.run("sha256sum", str(served.root / OBJECT))
        trial.outputs["sha256sum.txt"] = sums
        file_sums.consistent(file_sums.read(sums))
    beside = report.start_and_end(trial.outputs["connections.txt"], one.marks)
    return report.duration(text, one.marks, one.says_when, beside)


def _carried(trial: Trial) -> Carried:
    """What has arrived at the client's interface of the overlay since it was made. Raises WorkloadFailed."""
    text = trial.client.ask("ip", "-s", "-j", "link", "show", "dev", trial.overlay.interface).stdout
    found = [value_at(one, "stats64", "rx", counter) for one in tables(text, "ip") for counter in ("bytes", "packets")]
    if len(found) != 2 or not all(type(one) is int for one in found):
        raise WorkloadFailed(f"ip told no counters of {trial.overlay.interface}: {text[:200]!r}")
    size, packets = found
    return Carried(size, packets, IPV6 + LEAST if ":" in trial.target else IPV4 + LEAST)


def _lost(trial: Trial, folder: Path) -> int:
    """The packets that the server took for lost, of all that it sent. Raises WorkloadFailed."""
    logs = " ".join(map(str, trial.server.matching(folder, "*")))
    told = trial.server.ask("sh", "-c", f"cat {logs} | {COUNTED}", timeout=DOWNLOAD_TIMEOUT).stdout
    trial.outputs["log.txt"] = told
    return report.lost(told, int(trial.options["size"]))
