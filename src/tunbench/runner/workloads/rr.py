"""Request and response by sockperf: the next request is sent when the reply to the last one has come."""

import re
from random import Random
from typing import NamedTuple

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Load, Sample, Trial
from tunbench.runner.workloads.shared.output_bounds import COUNT, SECONDS, last_words
from tunbench.runner.workloads.shared.server_process import serving

LONGEST_TEST = 30.0
"""Seconds that a test may be asked to last."""

ABOUT = About(
    name="rr",
    summary="sockperf ping-pong over TCP or UDP: requests and replies one after the other, over IPv4",
    options={
        "proto": Option("choice", "tcp", "what carries the messages", choices=("tcp", "udp")),
        "size": Option("size", "64", "bytes of a request, and of its reply", low=14, high=65507),
        "duration": Option(
            "seconds", "1", "whole seconds to send; the first 0.4 s do not count", low=1, high=LONGEST_TEST
        ),
        "samples": Option("count", "2000", "round trips to keep, drawn at random from all", low=1, high=1_000_000),
    },
    metrics={
        "transactions": Metric(
            "1/s", "requests with a reply, each second of the whole test", more_is_better=True, main=True, followed=True
        ),
        "rtt": Metric("s", "round-trip time of a request and its reply", main=True, followed=True, at_a_glance=True),
    },
    programs={"sockperf": "sockperf"},
    version=("sockperf", "--version"),
)

PORT = 11111
"""sockperf's own port."""

CLIENT_GRACE = 20.0
"""Seconds that the client may take beyond the test's own duration; it waits for 2 s before it begins."""

WARM_UP, COOL_DOWN = 0.4, 0.05
"""Seconds after the first request and before the last one from which no round trip counts: sockperf 3.7, src/defs.h."""

ROUNDING = 1e-6
"""Seconds by which a round trip may differ from the moments that it is the difference of."""

# A bound where anything may stand: without one, a long line takes the square of its length.
TOTAL = re.compile(
    rf"\[Total Run\] RunTime=({SECONDS}\.\d{{3}}) sec; .{{0,99}}?SentMessages=({COUNT}); ReceivedMessages=({COUNT})",
    re.ASCII,
)
VALID = re.compile(
    rf"\[Valid Duration\] RunTime=({SECONDS}\.\d{{3}}) sec; .{{0,99}}?ReceivedMessages=({COUNT})", re.ASCII
)
ERRORS = re.compile(rf"# dropped messages = ({COUNT}); # duplicated messages = ({COUNT});", re.ASCII)
LOG_ROW = re.compile(
    rf"^({COUNT}), ({SECONDS}\.\d{{9}}), ({SECONDS}\.\d{{9}}), ({COUNT}\.\d{{3}})$", re.ASCII | re.MULTILINE
)


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"])


def load(options: Options) -> Load:
    """What it offers."""
    return Load()


def execute(trial: Trial) -> None:
    """Lets the client send to the server, and reads the log of all round trips."""
    if trial.overlay.family == 6:
        raise Unsupported("sockperf 3.7 does not know IPv6")
    options = trial.options
    proto, port, log = str(options["proto"]), trial.port(PORT), trial.client.home / "rr.csv"
    where, here = _where(proto, trial.target, port), _where(proto, trial.overlays[trial.server.name].local, port)
    try:
        with serving(trial.server, "sockperf", "server", *here, log="sockperf", port=port, proto=proto):
            result = trial.client.try_run(
                *("sockperf", "ping-pong", *where, "--msg-size", str(options["size"])),
                *("--time", str(options["duration"]), "--full-rtt", "--full-log", str(log)),
                timeout=seconds(options) + CLIENT_GRACE,
            )
        trial.outputs["sockperf.txt"] = result.stdout + result.stderr
        if result.status is None:
            raise WorkloadFailed(f"sockperf did not end within {CLIENT_GRACE:g} s after the test's duration")
        text = trial.client.read_if_there(log)
    finally:
        trial.client.try_run("rm", "-f", str(log))
    trial.samples += parse(trial.outputs["sockperf.txt"], text, proto, int(options["samples"]))


def _where(proto: str, address: str, port: str) -> tuple[str, ...]:
    return (*(("--tcp",) if proto == "tcp" else ()), "--ip", address, "--port", port)


class Trip(NamedTuple):
    """A row of the full log: its number, when request and reply passed, and the round trip, in seconds."""

    number: int
    request: float
    reply: float
    took: float


class Counted(NamedTuple):
    """What sockperf counted in so many seconds."""

    seconds: float
    sent: int
    received: int


class Printed(NamedTuple):
    """What sockperf printed of the whole test, of its part that counts, of errors, and the log of that part."""

    total: Counted
    valid: Counted | None
    dropped: int
    duplicated: int
    trips: list[Trip]
    last_words: str


def parse(text: str, log: str, proto: str, most: int) -> list[Sample]:
    """The samples in what sockperf printed and in its full log. Raises WorkloadFailed."""
    printed = consistent(read(text, log), proto)
    return [
        Sample("transactions", printed.total.received / printed.total.seconds),
        *_round_trips(printed.trips, most),
    ]


def read(text: str, log: str) -> Printed:
    """What sockperf printed, and its full log. Raises WorkloadFailed where it printed no result."""
    total, valid, errors = TOTAL.search(text), VALID.search(text), ERRORS.search(text)
    if not total or not float(total[1]):
        raise WorkloadFailed(f"sockperf printed no result: {last_words(text)}")
    return Printed(
        Counted(float(total[1]), int(total[2]), int(total[3])),
        Counted(float(valid[1]), int(valid[2]), int(valid[2])) if valid else None,
        int(errors[1]) if errors else 0,
        int(errors[2]) if errors else 0,
        [Trip(int(row[0]), float(row[1]), float(row[2]), float(row[3]) / 1e6) for row in LOG_ROW.findall(log)],
        last_words(text),
    )


def consistent(printed: Printed, proto: str) -> Printed:
    """The same, where counts and log agree, and UDP lost and doubled nothing. Raises WorkloadFailed."""
    total, valid, trips = printed.total, printed.valid, printed.trips
    # Longer than that no client is waited for.
    if total.received > total.sent or total.seconds > LONGEST_TEST + CLIENT_GRACE:
        raise WorkloadFailed(
            f"sockperf's counts make no sense: {total.sent} sent, {total.received} received in {total.seconds:g} s"
        )
    if proto == "udp":
        _check_udp(printed)
    if not valid:
        raise WorkloadFailed(f"sockperf counts no round trip of {total.received}: {printed.last_words}")
    if valid.seconds > total.seconds or valid.received > total.received:
        raise WorkloadFailed(
            f"sockperf counts {valid.received} round trips in {valid.seconds:.3f} s,"
            f" of {total.received} in {total.seconds:g} s altogether"
        )
    if not 0 < len(trips) == valid.received or [one.number for one in trips] != list(range(len(trips))):
        raise WorkloadFailed(f"sockperf counted {valid.received} round trips and logged {len(trips)}")
    _check_moments(trips)
    return printed


def _check_udp(printed: Printed) -> None:
    """Raises WorkloadFailed where a message came twice, or where sockperf waited to the end for one that was lost."""
    if printed.dropped or printed.duplicated:
        raise WorkloadFailed(
            f"{printed.duplicated} messages came twice, {printed.dropped} were lost: over UDP sockperf takes a copy for"
            " the next reply"
        )
    if printed.total.sent > printed.total.received and _stalled(printed):
        raise WorkloadFailed(
            f"a request or its reply was lost after {printed.total.received} round trips: over UDP sockperf waits for"
            " it to the end"
        )


def _stalled(printed: Printed) -> bool:
    """Whether the test waited at its end for longer than a few of its round trips take."""
    waited = printed.total.seconds - WARM_UP - COOL_DOWN - (printed.valid.seconds if printed.valid else 0)
    return waited > 3 * max((one.took for one in printed.trips), default=0) + 0.01


def _check_moments(trips: list[Trip]) -> None:
    """Raises WorkloadFailed where requests are out of order, or round trips are not those between their moments."""
    moments = [one.request for one in trips]
    if moments != sorted(moments):
        raise WorkloadFailed("sockperf logged requests out of their order")
    for one in trips:
        if abs(one.reply - one.request - one.took) > ROUNDING:
            raise WorkloadFailed(
                f"sockperf logged {1e6 * one.took:.3f} µs from a request at {one.request:.9f} s to its reply at"
                f" {one.reply:.9f} s"
            )


def _round_trips(trips: list[Trip], most: int) -> list[Sample]:
    """A simple random sample of the round trips: one taken at even distances could keep step with the kernel's tick."""
    chosen = sorted(Random(0).sample(range(len(trips)), min(most, len(trips))))
    began = trips[0].request
    return [Sample("rtt", trips[index].took, round(trips[index].request - began, 9)) for index in chosen]
