"""Round trips by irtt: its server, one test of its client, and what the client's JSON says of every round trip."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tunbench.runner.printed import at, table
from tunbench.runner.serving import serving
from tunbench.runner.workload import Trial, WorkloadFailed

PORT = 2112
"""The port that irtt's server has unless it is told another."""

PATIENCE = 30.0
"""Seconds that the client may take beyond the test's own duration: 15 to connect, and to wait for late replies."""

LONGEST = 1e13
"""Nanoseconds beyond which a time makes no sense."""


class Trips(NamedTuple):
    """What became of the requests: (moment of sending, round-trip time) of those answered, in seconds; how many sent.

    The moments count from the beginning of the test. The time that the server took is not part of a round trip.
    """

    answered: tuple[tuple[float, float], ...]
    sent: int

    @property
    def loss(self) -> float:
        """The requests without a reply, as a ratio."""
        return 1 - len(self.answered) / self.sent


@contextmanager
def server(trial: Trial) -> Iterator[str]:
    """A server on the trial's server node, for as long as it lasts; yields its address and port."""
    address = f"{trial.overlays[trial.server.name].host}:{trial.port(PORT)}"
    # Without `-i 0` it drops what comes closer together than 10 ms, as requests do that had waited in a queue.
    serve = ("irtt", "server", "-b", address, "-i", "0")
    with serving(trial.server, *serve, log="irtt", port=trial.port(PORT), proto="udp"):
        yield address


def measure(trial: Trial, address: str, duration: float, interval: float, name: str) -> Trips:
    """Sends a request each `interval` for so many seconds. The JSON is kept under that name. Raises WorkloadFailed."""
    result = trial.client.try_run(
        *("irtt", "client", "-i", f"{interval:g}s", "-d", f"{duration:g}s"),
        *("--clock=monotonic", "-Q", "-o", "-", address),
        timeout=duration + PATIENCE,
    )
    trial.outputs[name] = _packed(result.stdout)
    if result.status is None:
        raise WorkloadFailed(f"irtt did not end within {PATIENCE:g} s after the test's duration")
    if result.status != 0:
        raise WorkloadFailed(
            f"irtt ended with status {result.status}: {(result.stderr or result.stdout)[-200:].strip()}"
        )
    return parse(trial.outputs[name])


def parse(text: str) -> Trips:
    """The round trips in the client's JSON. Raises WorkloadFailed."""
    data = table(text, "irtt")
    # A reply that does not belong to the test ends it early; irtt's exit status is 0 all the same.
    for name in ("send_err", "receive_err"):
        if at(data, name) is not None:
            raise WorkloadFailed(f"irtt's test ended early: {name} {at(data, name)!r:.200}")
    trips = at(data, "round_trips")
    if not isinstance(trips, list) or not trips:
        raise WorkloadFailed("irtt's JSON has no round trips")
    answered = tuple(
        (_seconds(one, "timestamps", "client", "send", "monotonic"), _seconds(one, "delay", "rtt"))
        for one in trips
        if not _lost(one)
    )
    return Trips(answered, len(trips))


def _lost(trip: Any) -> bool:
    """Whether a request was lost: on its way there (`true_up`), back (`true_down`), or nobody knows where."""
    lost = at(trip, "lost")
    if lost not in ("false", "true", "true_up", "true_down"):
        raise WorkloadFailed(f"irtt's JSON does not say whether a request was lost: {lost!r:.80}")
    return bool(lost != "false")


def _seconds(data: Any, *path: str) -> float:
    """The seconds of whole nanoseconds at a path of the JSON."""
    found = at(data, *path)
    if type(found) is not int or not 0 <= found <= LONGEST:
        raise WorkloadFailed(f"irtt's JSON has no sound time at {'.'.join(path)}: {found!r:.80}")
    return found / 1e9


def _packed(text: str) -> str:
    """JSON without white space, which is most of it; anything else as it is."""
    try:
        return json.dumps(json.loads(text), separators=(",", ":"))
    except (ValueError, RecursionError):
        return text
