"""How fast the API server of a cluster answers: a pod lists all pods again and again, at a rate of its own."""

from collections.abc import Sequence
from typing import Any

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.tunnel import About as Declared
from tunbench.runner.node import python
from tunbench.runner.node.json_output import table
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.kube_api import asker
from tunbench.runner.workloads.shared.output_bounds import MOST_IN_JSON

ABOUT = About(
    name="kube-api",
    summary="a pod lists the pods of its cluster by HTTPS, so many times a second: latency of each answer",
    options={
        "requests": Option("count", "200", "requests to send", low=1, high=100_000),
        "rate": Option("count", "10", "requests a second, if each is answered in time", low=1, high=1000),
    },
    metrics={
        "latency": Metric(
            "s",
            "from a request to the last byte of its answer, and its connection if that is new",
            main=True,
            followed=True,
        ),
        "failures": Metric("ratio", "requests that were not answered by 200", question=Question.LATE),
    },
    programs={"python3": "python3-minimal"},
)

TIMEOUT = 10.0
"""Seconds that an answer may take."""

BUSY = 0.016
"""Seconds that a request and its answer keep the model machine busy that is not slowed: 3.2 were seen of 200."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["requests"]) / float(options["rate"])


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds."""
    return BUSY * float(options["requests"])


def misfit(options: Options, abouts: Sequence[Declared]) -> str:
    """Why it cannot be asked of a stack; empty where there is a cluster."""
    return "" if abouts[-1].pods else "it brings no cluster up, and there is no API server"


def execute(trial: Trial) -> None:
    """Asks from the client's pod."""
    server = trial.site.stack.layers[-1].api_server() if trial.site else None
    if not server:
        raise Unsupported("there is no cluster whose API server could be asked")
    program = trial.client.home / "kube-api.py"
    trial.client.write(program, python.source(asker))
    count, interval = int(trial.options["requests"]), 1 / float(trial.options["rate"])
    asking = (server.host, str(server.port), str(server.authority), str(server.token))
    text = trial.client.run(
        *(*trial.client.python, str(program), *asking, str(count), f"{interval:g}", f"{TIMEOUT:g}"),
        timeout=seconds(trial.options) + count * TIMEOUT,
    )
    trial.outputs["kube-api.json"] = text
    trial.samples += parse(text, count)


def parse(text: str, requests: int) -> list[Sample]:
    """The samples in the report on so many requests. Raises WorkloadFailed."""
    data = table(text, "the program")
    errors = data.get("errors")
    if not isinstance(errors, list) or not all(isinstance(one, str) for one in errors):
        raise WorkloadFailed("the program reports no errors")
    starts, latencies, codes, sizes = (_numbers(data, key) for key in ("starts", "latencies", "codes", "sizes"))
    if not len(starts) == len(latencies) == len(codes) == len(sizes) or len(codes) + len(errors) != requests:
        raise WorkloadFailed(f"it reports on {len(codes)} answers and {len(errors)} errors of {requests} requests")
    if any(later < start + took for start, took, later in zip(starts, latencies, starts[1:], strict=False)):
        raise WorkloadFailed("it reports a request that left before the one before it was answered")
    answered = [(start, took) for code, start, took in zip(codes, starts, latencies, strict=True) if code == 200]
    if not answered:
        raise WorkloadFailed(f"no request was answered by 200: {[*errors, *(f'{code:g}' for code in codes)][0]:.200}")
    return [
        Sample("failures", 1 - len(answered) / requests),
        *(Sample("latency", took, round(start, 9)) for start, took in answered),
    ]


def _numbers(data: dict[str, Any], key: str) -> list[float]:
    """The numbers of a list, each at least 0 and finite. Raises WorkloadFailed."""
    found = data.get(key)
    if not isinstance(found, list):
        raise WorkloadFailed(f"the program reports no list of {key}")
    for one in found:
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= MOST_IN_JSON:
            raise WorkloadFailed(f"the program reports no sound number among {key}: {one!r:.80}")
    return [float(one) for one in found]
