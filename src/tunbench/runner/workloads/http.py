"""Requests over HTTP or HTTPS: nginx serves one object, and hey fetches it again and again."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.json_output import table
from tunbench.runner.tunnels.shared import certificates
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.output_bounds import MOST_IN_JSON
from tunbench.runner.workloads.shared.web_server import serving_files

ABOUT = About(
    name="http",
    summary="hey fetches an object from nginx by HTTP/1.1: requests a second, latency of each, throughput",
    options={
        "size": Option("size", "10kB", "bytes of the object", low=1, high=100_000_000),
        "requests": Option("count", "500", "requests to send, a multiple of concurrency", low=1, high=100_000),
        "concurrency": Option("count", "10", "requests at once", low=1, high=1000),
        "tls": Option("switch", "off", "over TLS"),
        "keepalive": Option("switch", "on", "the next request takes the connection of the last one"),
    },
    metrics={
        "request-rate": Metric(
            "1/s",
            "requests that were answered by 200, each second",
            more_is_better=True,
            main=True,
            followed=True,
        ),
        "latency": Metric(
            "s",
            "from a request to the last byte of its answer, and its connection if that is new",
            main=True,
            followed=True,
        ),
        "throughput": Metric(
            "bit/s", "payload of the answers", more_is_better=True, main=True, followed=True, at_a_glance=True
        ),
        "failures": Metric("ratio", "requests that were not answered by 200", question=Question.LATE),
    },
    programs={"nginx": "nginx-light", "hey": "hey", "openssl": "openssl"},
    version=("nginx", "-v"),
)

PORT = 8080
REQUESTS_TIMEOUT = 60.0
"""Seconds that all requests together may take."""

OBJECT = "object.bin"

REPORT_GRACE = 1.0
"""Seconds that hey may take to see that the last answer has come: of 100,000 requests it took 1 ms."""

ROUNDING = 1e-9
"""Seconds by which sums of times may differ: Go counts nanoseconds."""

# hey's own CSV has four decimal places: 0.1 ms. A template of Go's has all that it knows.
REPORT = (
    '{"total":{{.Total.Seconds}},"bytes":{{.SizeTotal}},"errors":{{jsonify .ErrorDist}},'
    '"codes":{{jsonify .StatusCodes}},"starts":{{jsonify .Offsets}},"latencies":{{jsonify .Lats}}}'
)


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    new = 1 if options["keepalive"] else 4 if options["tls"] else 2
    return 0.2 + float(options["requests"]) * (0.0005 * new + float(options["size"]) * 1e-8)


def check(options: Options, given: Mapping[str, str]) -> None:
    """Raises ValueError where hey would send less than it is asked for."""
    if int(options["requests"]) % int(options["concurrency"]):
        raise ValueError(f"http: {options['requests']} requests are no multiple of {options['concurrency']} at once")


def execute(trial: Trial) -> None:
    """Serves the object, and fetches it as often as it is asked for."""
    options = trial.options
    scheme = "https" if options["tls"] else "http"
    host, port = trial.overlays[trial.server.name].host, trial.port(PORT)
    with _server(trial, trial.overlays[trial.server.name].local_host, port):
        result = trial.client.try_run(
            *("hey", "-n", str(options["requests"]), "-c", str(options["concurrency"]), "-t", f"{REQUESTS_TIMEOUT:g}"),
            *(() if options["keepalive"] else ("-disable-keepalive",)),
            *("-o", REPORT, f"{scheme}://{host}:{port}/{OBJECT}"),
            timeout=REQUESTS_TIMEOUT,
        )
    trial.outputs["hey.json"] = result.stdout
    if result.stderr:
        trial.outputs["hey.stderr"] = result.stderr
    if result.status is None:
        raise WorkloadFailed(f"hey did not end within {REQUESTS_TIMEOUT:g} s")
    if result.status != 0:
        raise WorkloadFailed(f"hey ended with status {result.status}: {(result.stderr or result.stdout)[:200].strip()}")
    trial.samples += parse(result.stdout, int(options["requests"]), int(options["size"]))


@contextmanager
def _server(trial: Trial, host: str, port: str) -> Iterator[None]:
    node = trial.server
    folder = node.home / f"http-{port}"
    try:
        node.run("mkdir", "-p", str(folder / "root"))
        # What is random cannot be compressed.
        node.run("openssl", "rand", "-out", str(folder / "root" / OBJECT), str(trial.options["size"]))
        pair = certificates.authority(node, folder / "server") if trial.options["tls"] else None
        with serving_files(node, folder, host, port, pair):
            yield
    finally:
        node.try_run("rm", "-rf", str(folder))


class Report(NamedTuple):
    """What hey reports: seconds and bytes in all, errors by text, and status, start and latency of each answer."""

    seconds: float
    bytes: float
    errors: dict[str, float]
    codes: list[float]
    starts: list[float]
    latencies: list[float]

    @property
    def answered(self) -> list[tuple[float, float]]:
        """Start and latency of each request that was answered by 200."""
        every = zip(self.codes, self.starts, self.latencies, strict=True)
        return [(start, latency) for code, start, latency in every if code == 200]


def parse(text: str, requests: int, size: int) -> list[Sample]:
    """The samples in hey's report on so many requests for an object of so many bytes. Raises WorkloadFailed."""
    report = consistent(read(text), requests, size)
    answered, began = report.answered, min(report.starts)
    return [
        Sample("request-rate", _finite(len(answered) / report.seconds)),
        Sample("throughput", _finite(8 * size * len(answered) / report.seconds)),
        Sample("failures", 1 - len(answered) / requests),
        *(Sample("latency", took, round(start - began, 9)) for start, took in answered),
    ]


def read(text: str) -> Report:
    """Hey's report. Raises WorkloadFailed where it is torn, or has no sound numbers."""
    data = table(text, "hey")
    errors = data.get("errors")
    if not isinstance(errors, dict):
        raise WorkloadFailed("hey's report has no errors")
    codes, starts, latencies = (_numbers(data.get(key), key) for key in ("codes", "starts", "latencies"))
    if broken := [code for code in codes if not code.is_integer()]:
        raise WorkloadFailed(f"hey reports the status {broken[0]:g}, which is no whole number")
    counts = dict(zip(errors, _numbers(list(errors.values()), "errors"), strict=True))
    [total], [carried] = (_numbers([data.get(key)], key) for key in ("total", "bytes"))
    return Report(total, carried, counts, codes, starts, latencies)


def consistent(report: Report, requests: int, size: int) -> Report:
    """The same, where it is on so many requests for an object of so many bytes. Raises WorkloadFailed."""
    codes, failed = report.codes, sum(report.errors.values())
    if not len(codes) == len(report.starts) == len(report.latencies) or len(codes) + failed != requests:
        raise WorkloadFailed(f"hey reports on {len(codes)} answers and {failed:g} errors of {requests} requests")
    objects = len(report.answered)
    if not objects:
        raise WorkloadFailed(f"no request was answered by 200: {_first(report)}")
    total, carried = report.seconds, report.bytes
    if not total or (objects == len(codes) and carried != objects * size):
        raise WorkloadFailed(f"hey reports {carried:g} B in {total:g} s for {objects} objects of {size} B")
    began = min(report.starts)
    last = max(start - began + took for start, took in zip(report.starts, report.latencies, strict=True))
    if last > total + ROUNDING or total > (REQUESTS_TIMEOUT if failed else last + REPORT_GRACE):
        raise WorkloadFailed(f"hey reports an answer {last:g} s after the first request, and {total:g} s for all")
    return report


def _numbers(found: Any, key: str) -> list[float]:
    """The numbers of a list, each at least 0 and finite. Raises WorkloadFailed."""
    if not isinstance(found, list):
        raise WorkloadFailed(f"hey's report has no list at {key}")
    for one in found:
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= MOST_IN_JSON:
            raise WorkloadFailed(f"hey's report has no sound number at {key}: {one!r:.80}")
    return [float(one) for one in found]


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise WorkloadFailed("hey reports a time that cannot be")
    return value


def _first(report: Report) -> str:
    """Why requests failed: the first error, or the first status."""
    return next(iter(report.errors), "") or f"the answer was {report.codes[0]:g}"
