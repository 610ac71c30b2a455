"""Request and response by sockperf: the next request is sent when the reply to the last one has come."""

import re
from random import Random

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.server_process import serving

LONGEST = 30.0
"""Seconds that a test may be asked to last."""

ABOUT = About(
    name="rr",
    summary="sockperf ping-pong over TCP or UDP: requests and replies one after the other, over IPv4",
    options={
        "proto": Option("choice", "tcp", "what carries the messages", choices=("tcp", "udp")),
        "size": Option("size", "64", "bytes of a request, and of its reply", low=14, high=65507),
        "duration": Option("seconds", "1", "whole seconds to send; the first 0.4 s do not count", low=1, high=LONGEST),
        "samples": Option("count", "2000", "round trips to keep, drawn at random from all", low=1, high=1_000_000),
    },
    metrics={
        "transactions": Metric(
            "1/s", "requests with a reply, each second of the whole test", more_is_better=True, main=True
        ),
        "rtt": Metric("s", "round-trip time of a request and its reply", main=True),
    },
    programs=("sockperf",),
    packages=("sockperf",),
    version=("sockperf", "--version"),
)

PORT = 11111
"""sockperf's own port."""

PATIENCE = 20.0
"""Seconds that the client may take beyond the test's own duration; it waits for 2 s before it begins."""

WARM_UP, COOL_DOWN = 0.4, 0.05
"""Seconds after the first request and before the last one from which no round trip counts: sockperf 3.7, src/defs.h."""

ROUNDING = 1e-6
"""Seconds by which a round trip may differ from the moments that it is the difference of."""

# A bound where anything may stand: without one, a long line takes the square of its length.
TOTAL = re.compile(
    r"\[Total Run\] RunTime=(\d{1,9}\.\d{3}) sec; .{0,99}?SentMessages=(\d{1,12}); ReceivedMessages=(\d{1,12})",
    re.ASCII,
)
VALID = re.compile(r"\[Valid Duration\] RunTime=(\d{1,9}\.\d{3}) sec; .{0,99}?ReceivedMessages=(\d{1,12})", re.ASCII)
ERRORS = re.compile(r"# dropped messages = (\d{1,12}); # duplicated messages = (\d{1,12});", re.ASCII)
ROW = re.compile(r"^(\d{1,12}), (\d{1,9}\.\d{9}), (\d{1,9}\.\d{9}), (\d{1,12}\.\d{3})$", re.ASCII | re.MULTILINE)


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"])


def execute(trial: Trial) -> None:
    """Lets the client send to the server, and reads the log of all round trips."""
    if trial.overlay.family == 6:
        raise Unsupported("sockperf 3.7 does not know IPv6")
    options = trial.options
    proto, port, log = str(options["proto"]), trial.port(PORT), trial.client.home / "rr.csv"
    where = (*(("--tcp",) if proto == "tcp" else ()), "--ip", trial.target, "--port", port)
    try:
        with serving(trial.server, "sockperf", "server", *where, log="sockperf", port=port, proto=proto):
            result = trial.client.try_run(
                *("sockperf", "ping-pong", *where, "--msg-size", str(options["size"])),
                *("--time", str(options["duration"]), "--full-rtt", "--full-log", str(log)),
                timeout=seconds(options) + PATIENCE,
            )
        trial.outputs["sockperf.txt"] = result.stdout + result.stderr
        if result.status is None:
            raise WorkloadFailed(f"sockperf did not end within {PATIENCE:g} s after the test's duration")
        text = trial.client.read_if_there(log)
    finally:
        trial.client.try_run("rm", "-f", str(log))
    trial.samples += parse(trial.outputs["sockperf.txt"], text, proto, int(options["samples"]))


def parse(text: str, log: str, proto: str, most: int) -> list[Sample]:
    """The samples in what sockperf printed and in its full log. Raises WorkloadFailed."""
    total = TOTAL.search(text)
    if not total or not float(total[1]):
        raise WorkloadFailed(f"sockperf printed no result: {text[-200:].strip()!r}")
    lasted, sent, received = float(total[1]), int(total[2]), int(total[3])
    # Longer than that no client is waited for.
    if received > sent or lasted > LONGEST + PATIENCE:
        raise WorkloadFailed(f"sockperf's counts make no sense: {total[0]}")
    valid, errors, rows = VALID.search(text), ERRORS.search(text), ROW.findall(log)
    times = [float(micro) / 1e6 for *_, micro in rows]
    if proto == "udp" and errors and (int(errors[1]) or int(errors[2])):
        raise WorkloadFailed(
            f"{errors[2]} messages came twice, {errors[1]} were lost: over UDP sockperf takes a copy for the next reply"
        )
    if proto == "udp" and sent > received and _stalled(lasted, float(valid[1]) if valid else 0, times):
        raise WorkloadFailed(
            f"a request or its reply was lost after {received} round trips: over UDP sockperf waits for it to the end"
        )
    if not valid:
        raise WorkloadFailed(f"sockperf counts no round trip of {received}: {text[-200:].strip()!r}")
    if float(valid[1]) > lasted or int(valid[2]) > received:
        raise WorkloadFailed(
            f"sockperf counts {valid[2]} round trips in {valid[1]} s, of {received} in {lasted:g} s altogether"
        )
    if not 0 < len(rows) == int(valid[2]) or [int(number) for number, *_ in rows] != list(range(len(rows))):
        raise WorkloadFailed(f"sockperf counted {valid[2]} round trips and logged {len(rows)}")
    return [Sample("transactions", received / lasted), *_round_trips(rows, times, most)]


def _stalled(lasted: float, valid: float, times: list[float]) -> bool:
    """Whether the test waited at its end for longer than a few of its round trips take (all in seconds)."""
    return lasted - WARM_UP - COOL_DOWN - valid > 3 * max(times, default=0) + 0.01


def _round_trips(rows: list[tuple[str, str, str, str]], times: list[float], most: int) -> list[Sample]:
    """A simple random sample of the round trips: one taken at even distances could keep step with the kernel's tick."""
    moments = [float(request) for _, request, _, _ in rows]
    if moments != sorted(moments):
        raise WorkloadFailed("sockperf logged requests out of their order")
    for (_, request, reply, micro), time in zip(rows, times, strict=True):
        if abs(float(reply) - float(request) - time) > ROUNDING:
            raise WorkloadFailed(f"sockperf logged {micro} µs from a request at {request} s to its reply at {reply} s")
    chosen = sorted(Random(0).sample(range(len(rows)), min(most, len(rows))))
    return [Sample("rtt", times[index], round(moments[index] - moments[0], 9)) for index in chosen]
