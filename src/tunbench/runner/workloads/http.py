"""Requests over HTTP or HTTPS: nginx serves one object, and hey fetches it again and again."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.json_output import table
from tunbench.runner.tunnels.shared import certificates
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.server_process import serving

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
            "1/s", "requests that were answered by 200, each second", more_is_better=True, main=True
        ),
        "latency": Metric(
            "s", "from a request to the last byte of its answer, and its connection if that is new", main=True
        ),
        "throughput": Metric("bit/s", "payload of the answers", more_is_better=True, main=True),
        "failures": Metric("ratio", "requests that were not answered by 200", question=Question.LATE),
    },
    programs=("nginx", "hey", "openssl"),
    packages=("nginx-light", "hey", "openssl"),
    version=("nginx", "-v"),
)

PORT = 8080
LIMIT = 60.0
"""Seconds that all requests together may take."""

OBJECT = "object.bin"

CONFIGURATION = """\
daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
events {{
    worker_connections 2048;
}}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    # One connection may carry all requests.
    keepalive_requests 100000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {host}:{port}{tls};
        root {folder}/root;
    }}
}}
"""

TLS = """\
 ssl;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {pair.certificate};
        ssl_certificate_key {pair.key}"""

AFTER = 1.0
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


def check(options: Options) -> None:
    """Raises ValueError where hey would send less than it is asked for."""
    if int(options["requests"]) % int(options["concurrency"]):
        raise ValueError(f"http: {options['requests']} requests are no multiple of {options['concurrency']} at once")


def execute(trial: Trial) -> None:
    """Serves the object, and fetches it as often as it is asked for."""
    options = trial.options
    scheme = "https" if options["tls"] else "http"
    host, port = trial.overlays[trial.server.name].host, trial.port(PORT)
    with _server(trial, host, port):
        result = trial.client.try_run(
            *("hey", "-n", str(options["requests"]), "-c", str(options["concurrency"]), "-t", f"{LIMIT:g}"),
            *(() if options["keepalive"] else ("-disable-keepalive",)),
            *("-o", REPORT, f"{scheme}://{host}:{port}/{OBJECT}"),
            timeout=LIMIT,
        )
    trial.outputs["hey.json"] = result.stdout
    if result.stderr:
        trial.outputs["hey.stderr"] = result.stderr
    if result.status is None:
        raise WorkloadFailed(f"hey did not end within {LIMIT:g} s")
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
        tls = ""
        if trial.options["tls"]:
            tls = TLS.format(pair=certificates.authority(node, folder / "server"))
        file = folder / "nginx.conf"
        node.write(file, CONFIGURATION.format(folder=folder, host=host, port=port, tls=tls))
        with serving(node, *_nginx(folder, file), log="nginx", port=port):
            yield
    finally:
        node.try_run("rm", "-rf", str(folder))


def _nginx(folder: Path, file: Path) -> tuple[str, ...]:
    return ("nginx", "-e", "stderr", "-p", f"{folder}/", "-c", str(file))


def parse(text: str, requests: int, size: int) -> list[Sample]:
    """The samples in hey's report on so many requests for an object of so many bytes. Raises WorkloadFailed."""
    data = table(text, "hey")
    errors = data.get("errors")
    if not isinstance(errors, dict):
        raise WorkloadFailed("hey's report has no errors")
    codes, starts, latencies = (_numbers(data.get(key), key) for key in ("codes", "starts", "latencies"))
    failed = sum(_numbers(list(errors.values()), "errors"))
    if not len(codes) == len(starts) == len(latencies) or len(codes) + failed != requests:
        raise WorkloadFailed(f"hey reports on {len(codes)} answers and {failed:g} errors of {requests} requests")
    if broken := [code for code in codes if not code.is_integer()]:
        raise WorkloadFailed(f"hey reports the status {broken[0]:g}, which is no whole number")
    answered = [(start, took) for code, start, took in zip(codes, starts, latencies, strict=True) if code == 200]
    if not answered:
        raise WorkloadFailed(f"no request was answered by 200: {_first(errors, codes)}")
    (total,) = _numbers([data.get("total")], "total")
    (carried,) = _numbers([data.get("bytes")], "bytes")
    if not total or (len(answered) == len(codes) and carried != len(answered) * size):
        raise WorkloadFailed(f"hey reports {carried:g} B in {total:g} s for {len(answered)} objects of {size} B")
    began = min(starts)
    last = max(start - began + took for start, took in zip(starts, latencies, strict=True))
    if last > total + ROUNDING or total > (LIMIT if failed else last + AFTER):
        raise WorkloadFailed(f"hey reports an answer {last:g} s after the first request, and {total:g} s for all")
    return [
        Sample("request-rate", _finite(len(answered) / total)),
        Sample("throughput", _finite(8 * size * len(answered) / total)),
        Sample("failures", 1 - len(answered) / requests),
        *(Sample("latency", took, round(start - began, 9)) for start, took in answered),
    ]


def _numbers(found: Any, key: str) -> list[float]:
    """The numbers of a list, each at least 0 and finite. Raises WorkloadFailed."""
    if not isinstance(found, list):
        raise WorkloadFailed(f"hey's report has no list at {key}")
    for one in found:
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= 1e15:
            raise WorkloadFailed(f"hey's report has no sound number at {key}: {one!r:.80}")
    return [float(one) for one in found]


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise WorkloadFailed("hey reports a time that cannot be")
    return value


def _first(errors: dict[str, Any], codes: list[float]) -> str:
    """Why requests failed: the first error, or the first status."""
    return next(iter(errors), "") or f"the answer was {codes[0]:g}"
