"""What the iperf3 workloads share: options, and one server for one test, of which the client tells as JSON."""

from collections.abc import Sequence
from typing import Any

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until
from tunbench.runner.workload import Trial
from tunbench.runner.workloads.shared import arrivals
from tunbench.runner.workloads.shared.arrivals import Heard
from tunbench.runner.workloads.shared.iperf import iperf3_report
from tunbench.runner.workloads.shared.server_process import serving

PORT = 5201
"""The first port of its servers: each pair of nodes that is under way at once has one."""

CLIENT_GRACE = 20.0
"""Seconds that the client may take beyond the test's own duration."""

SLOWEST = 100_000.0
"""Bits a second at which a number of bytes must pass, to be waited for."""

USUAL = 50e6
"""Bits a second by which the time for a number of bytes is estimated."""

TRIES = 3
"""Times that a test by UDP is begun: where the one datagram that opens a stream is lost, iperf3 waits for ever."""

BYTES = Option("size", "0", "bytes to send; 0: for `duration`, whose place it takes", low=1, high=1e12, zero=True)
PARALLEL = Option("count", "1", "streams at once", low=1, high=128)
DSCP = Option("count", "0", "DSCP of what is sent, 46 is EF (RFC 3246)", low=0, high=63)
REVERSE = Option("switch", "off", "the server sends")
BIDIR = Option("switch", "off", "both send at once")
# iperf3's MAX_TCP_BUFFER.
WINDOW = Option("size", "0", "bytes of each socket's buffers, 0: the system's", low=1, high=512 << 20, zero=True)


def amount(options: Options) -> tuple[str, str]:
    """How much to send, in iperf3's words."""
    return ("--bytes", str(options["bytes"])) if options["bytes"] else ("--time", str(options["duration"]))


def direction(options: Options) -> list[str]:
    """Who sends, in iperf3's words. Raises ValueError where it is said twice."""
    if options["reverse"] and options["bidir"]:
        raise ValueError("the options reverse and bidir exclude each other: with bidir both send")
    return ["--reverse"] if options["reverse"] else ["--bidir"] if options["bidir"] else []


def marked(options: Options) -> list[str]:
    """What iperf3 is told of the DSCP."""
    return ["--dscp", str(options["dscp"])] if options["dscp"] else []


def expected(options: Options) -> float:
    """About how many seconds a test lasts."""
    return 8 * float(options["bytes"]) / USUAL or float(options["duration"])


def longest(options: Options) -> float:
    """Seconds that a test may last by what was asked for."""
    return 8 * float(options["bytes"]) / SLOWEST or float(options["duration"])


def measure(trial: Trial, seconds: float, *arguments: str, server_arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs one test that lasts so many seconds, and returns the client's JSON. Raises WorkloadFailed."""
    port = trial.port(PORT)
    serve = ("iperf3", "--server", "--one-off", "--port", port, *server_arguments)
    with serving(trial.server, *serve, log="iperf3", port=port) as server:
        result = trial.client.try_run(
            *("iperf3", "--client", trial.target, "--port", port, "--json", *arguments),
            timeout=seconds + CLIENT_GRACE,
        )
        wait_until(lambda: server.poll() is not None, 1)
    trial.outputs["iperf3.json"] = result.stdout
    if result.stderr:
        trial.outputs["iperf3.stderr"] = result.stderr
    if result.status is None:
        raise WorkloadFailed(f"iperf3 did not end within {CLIENT_GRACE:g} s after the test's duration")
    return iperf3_report.load(result.stdout)


def measure_udp(
    trial: Trial,
    expected: arrivals.Expected,
    receivers: Sequence[Node],
    *arguments: str,
    server_arguments: Sequence[str] = (),
) -> tuple[dict[str, Any], dict[str, Heard]]:
    """The same by UDP, and what was heard at each node that received, by its name. Raises WorkloadFailed.

    A test that does not come to its end is begun again.
    """
    length = int(trial.options["length"])
    ears = [arrivals.Ear(node, node is trial.server, trial.port(PORT), "iperf3", length) for node in receivers]
    for left in reversed(range(TRIES)):
        try:
            with arrivals.heard(trial, ears, expected):
                data = measure(trial, expected.seconds, "--udp", *arguments, server_arguments=server_arguments)
            return data, {node.name: arrivals.parse(trial.outputs[arrivals.output(node.name)]) for node in receivers}
        except WorkloadFailed:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")
