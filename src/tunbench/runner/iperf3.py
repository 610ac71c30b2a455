"""What the iperf3 workloads share: one server for one test, the client's JSON, and what may be wrong with it."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from tunbench.runner.shell import wait_until
from tunbench.runner.workload import Trial, WorkloadFailed

PORT = 5201
"""The first port of its servers: each pair of nodes that is under way at once has one."""

PATIENCE = 20.0
"""Seconds that the client may take beyond the test's own duration."""


def measure(trial: Trial, seconds: float, *arguments: str, server_arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs one test that lasts so many seconds, and returns the client's JSON. Raises WorkloadFailed."""
    port = trial.port(PORT)
    server = trial.server.start("iperf3", "--server", "--one-off", "--port", port, *server_arguments, log="iperf3")
    try:
        if not trial.server.until_prints("ss", "-Hltn", f"sport = :{port}", timeout=PATIENCE):
            raise WorkloadFailed(f"the iperf3 server did not listen on port {port} in {PATIENCE:g} s")
        result = trial.client.try_run(
            *("iperf3", "--client", trial.target, "--port", port, "--json", *arguments),
            timeout=seconds + PATIENCE,
        )
        wait_until(lambda: server.poll() is not None, 1)
    finally:
        server.stop()
    trial.outputs["iperf3.json"] = result.stdout
    if result.stderr:
        trial.outputs["iperf3.stderr"] = result.stderr
    if result.status is None:
        raise WorkloadFailed(f"iperf3 did not end within {PATIENCE:g} s after the test's duration")
    return load(result.stdout)


def load(text: str) -> dict[str, Any]:
    """The client's JSON. Raises WorkloadFailed where it is torn or holds an error."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise WorkloadFailed(f"iperf3 printed no JSON: {text[-200:]!r}") from None
    if not isinstance(data, dict):
        raise WorkloadFailed("iperf3 printed JSON that is no object")
    if "error" in data:
        raise WorkloadFailed(f"iperf3: {data['error']}")
    return data


def number(data: Any, *path: str) -> float:
    """The number at a path of the JSON, at least 0. Raises WorkloadFailed."""
    found = _at(data, path)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= sys.float_info.max:
        raise WorkloadFailed(f"iperf3's JSON has no sound number at {'.'.join(path)}: {found!r:.80}")
    return float(found)


def items(data: Any, *path: str) -> list[Any]:
    """The list at a path of the JSON. Raises WorkloadFailed."""
    found = _at(data, path)
    if not isinstance(found, list):
        raise WorkloadFailed(f"iperf3's JSON has no list at {'.'.join(path)}")
    return found


def _at(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data
