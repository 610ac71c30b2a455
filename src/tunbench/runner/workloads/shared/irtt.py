"""Round trips by irtt: its server, one test of its client, and what the client's JSON says of every round trip."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.workload import Trial
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS, MOST_NANOSECONDS
from tunbench.runner.workloads.shared.server_process import serving

PORT = 2112
"""The port that irtt's server has unless it is told another."""

CLIENT_GRACE = 30.0
"""Seconds that the client may take beyond the test's own duration: 15 to connect, and to wait for late replies."""

SENT, RECEIVED = (("timestamps", "client", name, "monotonic") for name in ("send", "receive"))
"""Where the moments of a round trip stand."""


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
    overlay, port = trial.overlays[trial.server.name], trial.port(PORT)
    # Without `-i 0` it drops what comes closer together than 10 ms, as requests do that had waited in a queue.
    serve = ("irtt", "server", "-b", f"{overlay.local_host}:{port}", "-i", "0")
    with serving(trial.server, *serve, log="irtt", port=port, proto="udp"):
        yield f"{overlay.host}:{port}"


def measure(trial: Trial, address: str, duration: float, interval: float, name: str) -> Trips:
    """Sends a request each `interval` for so many seconds. The JSON is kept under that name. Raises WorkloadFailed."""
    result = trial.client.try_run(
        *("irtt", "client", "-i", f"{interval:g}s", "-d", f"{duration:g}s"),
        *("--clock=monotonic", "-Q", "-o", "-", address),
        timeout=duration + CLIENT_GRACE,
    )
    trial.outputs[name] = _packed(result.stdout)
    if result.status is None:
        raise WorkloadFailed(f"irtt did not end within {CLIENT_GRACE:g} s after the test's duration")
    if result.status != 0:
        raise WorkloadFailed(
            f"irtt ended with status {result.status}: {(result.stderr or result.stdout)[-LAST_WORDS:].strip()}"
        )
    return parse(trial.outputs[name])


class RoundTrip(NamedTuple):
    """What the JSON tells of a request, in nanoseconds: its round trip and moments are missing where it was lost.

    The round trip is without the time that passed `inside` the server.
    """

    number: int
    sent: int
    lost: bool
    received: int = 0
    inside: int = 0
    rtt: int = 0


class Report(NamedTuple):
    """The client's JSON: every round trip, and what irtt itself counted: requests, replies, and the longest of them."""

    trips: list[RoundTrip]
    counted: list[Any]

    @property
    def answered(self) -> list[RoundTrip]:
        """The requests that were answered."""
        return [one for one in self.trips if not one.lost]


def parse(text: str) -> Trips:
    """The round trips in the client's JSON. Raises WorkloadFailed."""
    report = consistent(read(text))
    return Trips(tuple((one.sent / 1e9, one.rtt / 1e9) for one in report.answered), len(report.trips))


def read(text: str) -> Report:
    """The client's JSON. Raises WorkloadFailed where it is torn, or of a test that ended early."""
    data = table(text, "irtt")
    # A reply that does not belong to the test ends it early; irtt's exit status is 0 all the same.
    for name in ("send_err", "receive_err"):
        if value_at(data, name) is not None:
            raise WorkloadFailed(f"irtt's test ended early: {name} {value_at(data, name)!r:.200}")
    trips = value_at(data, "round_trips")
    if not isinstance(trips, list) or not trips:
        raise WorkloadFailed("irtt's JSON has no round trips")
    counted = [value_at(data, "stats", *path) for path in (("packets_sent",), ("rtt", "n"), ("rtt", "max"))]
    return Report([_round_trip(number, one) for number, one in enumerate(trips)], counted)


def consistent(report: Report) -> Report:
    """The same, where moments are in order, and times and counts are those of the moments. Raises WorkloadFailed."""
    moments = [one.sent for one in report.trips]
    if moments != sorted(moments):
        raise WorkloadFailed("irtt's requests are not in the order of their sending")
    for one in report.answered:
        if one.received < one.sent or one.inside < 0 or one.rtt != one.received - one.sent - one.inside:
            raise WorkloadFailed(
                f"irtt counted a round trip of {one.rtt} ns, {one.inside} ns in the server, from {one.sent} to"
                f" {one.received} ns"
            )
    times = [one.rtt for one in report.answered]
    if report.counted != [len(report.trips), len(times), max(times, default=0)]:
        requests, replies, longest = report.counted
        raise WorkloadFailed(
            f"irtt counted {requests!r:.40} requests, {replies!r:.40} replies and {longest!r:.40} ns at most,"
            f" and tells of {len(report.trips)}, {len(times)} and {max(times, default=0)}"
        )
    return report


def _round_trip(number: int, trip: Any) -> RoundTrip:
    """The round trip of that number. Raises WorkloadFailed."""
    if type(value_at(trip, "seqno")) is not int or trip["seqno"] != number:
        raise WorkloadFailed(f"irtt's round trip {number} has the number {value_at(trip, 'seqno')!r:.80}")
    sent = _nanoseconds(trip, *SENT)
    if _lost(trip):
        return RoundTrip(number, sent, lost=True)
    rtt, received = (_nanoseconds(trip, *path) for path in (("delay", "rtt"), RECEIVED))
    took = [value_at(trip, "timestamps", "server", name, "monotonic") for name in ("receive", "send")]
    inside = took[1] - took[0] if all(type(moment) is int for moment in took) else 0
    return RoundTrip(number, sent, False, received, inside, rtt)


def _lost(trip: Any) -> bool:
    """Whether a request was lost: on its way there (`true_up`), back (`true_down`), or nobody knows where."""
    lost = value_at(trip, "lost")
    if lost not in ("false", "true", "true_up", "true_down"):
        raise WorkloadFailed(f"irtt's JSON does not say whether a request was lost: {lost!r:.80}")
    return bool(lost != "false")


def _nanoseconds(data: Any, *path: str) -> int:
    """The whole nanoseconds at a path of the JSON."""
    found = value_at(data, *path)
    if type(found) is not int or not 0 <= found <= MOST_NANOSECONDS:
        raise WorkloadFailed(f"irtt's JSON has no sound time at {'.'.join(path)}: {found!r:.80}")
    return found


def _packed(text: str) -> str:
    """JSON without white space, which is most of it; anything else as it is."""
    try:
        return json.dumps(json.loads(text), separators=(",", ":"))
    except (ValueError, RecursionError):
        return text
