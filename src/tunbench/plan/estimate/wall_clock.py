"""What virtual time takes of wall clock: how long stacks take to come up, and workloads keep the processor busy.

The constants were read off finished runs on a shared server, from the hours in which it had little else to do. They are
rules of thumb, meant to be right by a quarter: they tell people whether to wait or to go home.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache

from tunbench.plan.axes.machine import FULL_SPEED
from tunbench.plan.axes.profile import Profile
from tunbench.plan.axes.stack import PlannedStack
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.netem_arithmetic import mean_delay, mean_loss
from tunbench.runner.declare.netem_terms import Terms, number
from tunbench.runner.invocation import Invocation
from tunbench.runner.network.underlay import WIRE
from tunbench.runner.workload import Load

BOOT_SECONDS = 7.5
"""Seconds of wall clock from a VM's start to its first trial, and back to nothing."""

SAVING_SECONDS, LOADING_SECONDS = 20.0, 3.0
"""What it is taken to need to save a VM whose stack is up, and to load it: chosen, and not read off runs."""

USUAL_ENDPOINTS = 3
"""Endpoints up to which all these constants are taken to hold: most plans have pairs, or rings of three.

With more, the time that daemons take to begin is taken to grow in proportion. No large mesh of daemons was measured."""

ENDPOINT_SECONDS = 0.7
"""Seconds more for each further endpoint: meshes of 2, 4 and 8 with WireGuard had 0.16 busy seconds more for each."""

SECONDS_A_BUSY_SECOND = 4.5
"""Seconds of wall clock that one second takes in which the full model machine is busy."""

USER_SPACE_FACTOR = 1.7
"""How many times longer a busy second takes where packets pass through a process."""

NO_AES_FACTOR = 0.6
"""The part of it that it takes where a stack encrypts and the machine lacks the instructions for AES.

Seen without AVX2 as well: 0.2 and 0.4 for AES by tables (IPsec, OpenVPN), 0.7 for ChaCha20-Poly1305 (WireGuard)."""

BUNDLED_BITS_A_BUSY_SECOND = {False: 5e9, True: 150e6}
"""Bits a second of TCP that keep the full model machine busy, of a stack that does not encrypt and of one that does.

Where no link cuts them, segments are handed on many at once (GSO), which spares most of the work."""

UNHELD_BITS_A_BUSY_SECOND = {False: 1e9, True: 150e6}
"""The same where they are cut as they leave a node, and no rate holds them back."""

HELD_BITS_A_BUSY_SECOND = {False: 300e6, True: 120e6}
"""The same where they go one by one, because of a rate, and of UDP."""

IDLE_SHARE = 0.02
"""The share of a busy machine that a workload takes while it waits: its timers, and those of the kernel."""

SEGMENT_BITS = 8 * 1448
"""Bits of payload of a TCP segment on Ethernet, with time stamps."""

INITIAL_WINDOW_SEGMENTS = 10
"""Segments that TCP sends at once when it begins: RFC 6928, section 2."""

WINDOW_KEPT_ON_LOSS = 0.7
"""The part of its window that TCP keeps after a loss: RFC 9438, section 4.6."""

SEGMENTS_GROWN_A_TRIP = 3 * (1 - WINDOW_KEPT_ON_LOSS) / (1 + WINDOW_KEPT_ON_LOSS)
"""Segments by which it then grows in a round trip: RFC 9438, section 4.3."""

MAX_WINDOW_BITS = 8 * 3 * 1024**2
"""Bits that TCP has under way at most: half of what `net.ipv4.tcp_rmem` allows by default, tcp(7)."""

MIN_TRIP_SECONDS = 1e-3
"""Seconds of a round trip, at least, that TCP takes under loss."""

MAX_TRIPS = 1000
"""Round trips after which TCP does not change its mean rate any more."""


def bring_up(stack: PlannedStack, workloads: Iterable[Invocation] = (), endpoints: int = 2) -> float:
    """Seconds of wall clock from a VM's start to the first trial over a stack, and back to nothing.

    The programs begin once more each time that one of the workloads takes the stack down: of many endpoints it is
    mostly one that begins again.
    """
    size = max(endpoints, USUAL_ENDPOINTS)
    times = size / USUAL_ENDPOINTS + sum(what.restarts for what in workloads)
    begun = BOOT_SECONDS + ENDPOINT_SECONDS * (size - USUAL_ENDPOINTS)
    return begun + times * sum(about.startup_seconds for about in stack.abouts)


def busy_second(stack: PlannedStack, aes: bool = True) -> float:
    """Seconds of wall clock that one second takes in which a stack keeps the full model machine busy.

    `aes`: whether the machine has the processor's instructions for AES.
    """
    slower = USER_SPACE_FACTOR if any(about.user_space for about in stack.abouts) else 1
    return SECONDS_A_BUSY_SECOND * slower * (NO_AES_FACTOR if encrypts(stack) and not aes else 1)


def encrypts(stack: PlannedStack) -> bool:
    """Whether any layer of a stack claims confidentiality."""
    return any(layer.kind.about.claims.confidentiality for layer in stack.layers)


def rate_limit(link: Link) -> float:
    """Bits a second that two such links let pass, one after the other; infinite where they have no rate."""
    return min(link.up.rate or math.inf, link.down.rate or math.inf)


def tcp_limit(profile: Profile, seconds: float, back: bool = False, link: Link = WIRE) -> float:
    """Bits a second that a TCP flow of so many seconds reaches: the link's rate, or what loss and delay allow.

    It is that of the way there, or `back`: the acknowledgements, which go the other way, hardly need any rate.

    Under loss a short flow is faster than a long one: it has a large window before the first segment is lost, and
    several more have to be lost until the window is what it stays at. Without loss it is slower, by its slow start.
    """
    way = profile.reverse if back else profile.forward
    known = mean_loss(way)
    loss = number(way, "loss") if known is None else known
    delay = sum(_delay(terms) for terms in (profile.forward, profile.reverse))
    if not (loss or delay):
        return rate_limit(link)
    trip = max(MIN_TRIP_SECONDS, delay + link.base_round_trip)
    trips = max(1, min(MAX_TRIPS, round(seconds / trip)))
    most = min(rate_limit(link) * trip, MAX_WINDOW_BITS) / SEGMENT_BITS
    return _sent(trips, loss, most) * SEGMENT_BITS / (trips * trip)


@cache
def _sent(trips: int, loss: float, most: float) -> float:
    """Segments that TCP sends in so many round trips where one in 1 ÷ loss is lost, and no more than `most` a trip."""
    window, total, since, slow_start = float(INITIAL_WINDOW_SEGMENTS), 0.0, 0.0, True
    for _ in range(trips):
        sent = min(window, most)
        total, since = total + sent, since + sent
        if since * loss >= 1:
            since, slow_start = 0.0, False
            window = max(1.0, sent * WINDOW_KEPT_ON_LOSS)
        else:
            window = window * 2 if slow_start else window + SEGMENTS_GROWN_A_TRIP
        window = min(window, 2 * most)
    return total


def _delay(terms: Terms) -> float:
    return _mean_delay(number(terms, "delay"), number(terms, "jitter"), str(terms.get("distribution", "uniform")))


_mean_delay = cache(mean_delay)
"""It is asked for once a trial, and adds up thousands of numbers."""


def busy(
    what: Invocation,
    speed: int = FULL_SPEED,
    profile: Profile | None = None,
    encrypted: bool = False,
    link: Link = WIRE,
) -> float:
    """Seconds that a workload keeps the full model machine busy for one pair.

    In a second of a slow machine there are fewer instructions. What is held back, by its own rate or the link's,
    leaves the machine idle for the rest of the time, which virtual time skips.
    """
    load = what.load
    if load is None:
        return what.busy * (1 if what.waits else speed / FULL_SPEED)
    held = _held(load, what.seconds, profile, link)
    carried = _bits_a_busy_second(load, link)[encrypted]
    if load.size and not load.rate:
        bits = 8 * load.size
        return bits / carried + IDLE_SHARE * bits / held
    share = min(speed / FULL_SPEED, IDLE_SHARE + held / carried)
    return what.seconds * share


def _held(load: Load, seconds: float, profile: Profile | None, link: Link) -> float:
    """Bits a second of a load, in all of its flows, that a profile and a link let pass on average."""
    offered = load.flows * load.rate
    if profile is None:
        return offered or math.inf
    return min(offered or load.flows * tcp_limit(profile, seconds, load.reverse, link), rate_limit(link))


def _bits_a_busy_second(load: Load, link: Link) -> Mapping[bool, float]:
    """What keeps the full model machine busy, with and without encryption."""
    if load.rate or math.isfinite(rate_limit(link)):
        return HELD_BITS_A_BUSY_SECOND
    return UNHELD_BITS_A_BUSY_SECOND if link.cuts else BUNDLED_BITS_A_BUSY_SECOND
