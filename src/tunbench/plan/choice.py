"""A plan from a line's data sheet: which of some stacks is the better one between two sites."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tunbench.plan import load
from tunbench.plan.axes import profile
from tunbench.plan.axes.stack import read_stack
from tunbench.plan.load import Loaded, PlanError
from tunbench.plan.toml import positions
from tunbench.plan.toml.mistakes import MistakeAt
from tunbench.runner.declare import quantity
from tunbench.runner.declare.link import ETHERNET_HEADER, FRAMINGS
from tunbench.runner.declare.options import nearest

NAME = "choose"
"""The plan's name, and how its run's folder ends."""

QUEUE_MILLISECONDS = 50
"""How much waits for a line, which no data sheet tells: chosen, between a good router's and a bloated one's."""

FULL_FRAME_BYTES = FRAMINGS["ethernet"].wire_bytes(FRAMINGS["ethernet"].mtu + ETHERNET_HEADER)
"""A line that carries no such frame in that time has room for one."""

MOST_REPEATS = 30

RATES = {"G": "1e9", "M": "1e6", "K": "1e3", "bit": "1"}
DELAYS = {"s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9"}
"""Units that names are written in, the largest first."""

LINE = re.compile(r"([^/]+)/([^/]+)")

SLOWEST, FASTEST = "1K", "600G"
"""The rates that a line can have: a link's, as far as the kernel counts what waits in that time."""

LINE_EXAMPLE = "write what comes down and what goes up, such as --line 300M/40M"

OPTIONS: Mapping[positions.Path, str] = {
    ("seed",): "--seed",
    ("access",): "--line-b",
    ("link",): "--line",
    ("profiles",): "--delay, --loss",
    ("stacks",): "STACK",
}
"""What the keys of the plan were made of."""


class Purpose(NamedTuple):
    """What a line is for: in words what is measured, the workloads, and how narrow which metrics are to become."""

    words: str
    workloads: tuple[str, ...]
    metrics: tuple[str, ...]
    width: str


CALL = "iperf3-udp:rate=68.8K,length=172,duration=20,bidir=on"
"""G.711: 50 packets a second, each of 160 B of speech and 12 B of RTP (RFC 3551, section 4.5.14)."""

PURPOSES = {
    "": Purpose(
        "a long TCP flow each way, and round trips without and beside four flows up",
        (
            "ping:count=50,interval=0.02",
            "iperf3-tcp:duration=5",
            "iperf3-tcp:duration=5,reverse=on",
            "loaded-latency:direction=up",
        ),
        ("rtt", "throughput"),
        "10%",
    ),
    "voip": Purpose("a call of 20 s over G.711, both ways at once", (CALL,), ("one-way-delay",), "2%"),
    "backup": Purpose(
        "a TCP flow of 15 s each way",
        ("iperf3-tcp:duration=15", "iperf3-tcp:duration=15,reverse=on"),
        ("throughput",),
        "10%",
    ),
    "web": Purpose(
        "60 objects of 50 kB over TLS, six at a time",
        ("http:size=50kB,requests=60,concurrency=6,tls=on",),
        ("latency", "request-rate"),
        "5%",
    ),
}
"""What there is to choose for; without a word, for anything."""


class Line(NamedTuple):
    """What a data sheet says of a site's line: two rates as they are written."""

    down: str
    up: str


class Choice(NamedTuple):
    """What is asked: stacks between site a and site b, each with its line; delay (one way) and loss as written."""

    stacks: Sequence[str]
    a: Line
    b: Line
    delay: str
    loss: str
    purpose: Purpose
    seed: int = 1

    @property
    def to_b(self) -> str:
        """The rate from a to b: the smaller of what a sends and what b receives."""
        return min(self.a.up, self.b.down, key=quantity.rate)

    @property
    def to_a(self) -> str:
        """The rate from b to a."""
        return min(self.b.up, self.a.down, key=quantity.rate)


def read(stacks: Sequence[str], line: str, line_b: str, delay: str, loss: str, purpose: str, seed: int) -> Choice:
    """What was asked for, each part of it checked. Raises PlanError, which names the option and the mend."""
    if len(stacks) < 2:
        raise PlanError("name two stacks at least, such as: tunbench choose wireguard openvpn --line 300M/40M")
    for stack in stacks:
        _checked("", read_stack, stack)
        if stacks.count(stack) > 1:
            raise PlanError(f"{stack} is named twice: take one of them away")
    if purpose not in PURPOSES:
        raise PlanError(f'--for: there is no "{purpose}"{nearest(purpose, [name for name in PURPOSES if name])}')
    a = _line("--line", line)
    b = _line("--line-b", line_b) if line_b else a
    for option, key, value, example in (("--delay", "delay", delay, "35ms"), ("--loss", "loss", loss, "0.2%")):
        if ".." in value:
            raise PlanError(f"{option}: {value} are several values: give one, such as {example}")
        _checked(option, profile.read_profile, {"name": "line", key: value})
    return Choice(stacks, a, b, delay, loss, PURPOSES[purpose], seed)


def text(choice: Choice, command: str) -> str:
    """The plan as TOML; `command` is what it was made by."""
    metrics = json.dumps(list(choice.purpose.metrics))
    return "\n".join(
        [
            f"# Which of these is the better one? Made by: {command}",
            "",
            f"name = {json.dumps(NAME)}",
            f"seed = {choice.seed}",
            "repeats = 10",
            f'until = {{ width = "{choice.purpose.width}", max = {MOST_REPEATS}, metrics = {metrics} }}',
            f"stacks = {json.dumps(list(choice.stacks))}",
            f"workloads = {json.dumps(list(choice.purpose.workloads))}",
            "",
            "# Between the sites. The delay is one way.",
            f'profiles = [{{ name = "{_between(choice)}", delay = "{choice.delay}", loss = "{choice.loss}" }}]',
            "",
            *_lines(choice),
            "",
        ]
    )


def loaded(text: str, path: Path) -> Loaded:
    """The plan that was made. Raises PlanError, which names options: whoever chooses has written no file."""
    return load.read(text, path, options=OPTIONS)


def _lines(choice: Choice) -> list[str]:
    if choice.a == choice.b:
        return ["# The line of each site.", f'link = {{ name = "{_name(choice.a)}", {_rates(choice.a)} }}']
    return [
        "# The line of each site, behind a gateway of its own, which lets all through over IPv6 as well.",
        *(
            f'access.{node} = {{ name = "line-{_name(line).lower()}", firewall = "open", link = {{ {_rates(line)} }} }}'
            for node, line in (("a", choice.a), ("b", choice.b))
        ),
    ]


def _between(choice: Choice) -> str:
    """What lies between the sites, as a name of a profile may be, such as `delay-35ms-loss-2-in-1000`."""
    told = f"delay-{_whole(Decimal(str(quantity.duration(choice.delay))), DELAYS)}"
    lost = Fraction(quantity.ratio(choice.loss)).limit_denominator(10**9)
    of = next((10**n for n in range(9) if (lost * 10**n).denominator == 1), 10**9)
    return f"{told}-loss-{round(lost * of)}-in-{of}" if lost else told


def _name(line: Line) -> str:
    """A line as a name of a link may be, such as `300M-40M`."""
    return "-".join(_whole(Decimal(str(quantity.rate(rate))), RATES) for rate in line)


def _whole(value: Decimal, units: Mapping[str, str]) -> str:
    """A value in the largest unit in which it is a whole number, rounded in the smallest; a name has no point."""
    unit = next((unit for unit, size in units.items() if value and not value % Decimal(size)), list(units)[-1])
    return f"{value / Decimal(units[unit]):.0f}{unit}"


def _rates(line: Line) -> str:
    ways = {"down": line.down, "up": line.up}
    return ", ".join(
        f'{way} = {{ rate = "{rate}", queue = "{_queue_milliseconds(rate)}ms" }}' for way, rate in ways.items()
    )


def _queue_milliseconds(rate: str) -> int:
    return max(QUEUE_MILLISECONDS, math.ceil(8e3 * FULL_FRAME_BYTES / quantity.rate(rate)))


def _line(option: str, value: str) -> Line:
    """The two rates of an option. Raises PlanError."""
    found = LINE.fullmatch(value.strip())
    if not found:
        raise PlanError(f'{option}: "{value}" is not two rates: {LINE_EXAMPLE}')
    line = Line(found[1].strip(), found[2].strip())
    slowest, fastest = quantity.rate(SLOWEST), quantity.rate(FASTEST)
    for rate in line:
        _checked(option, quantity.rate, rate)
        # Whoever writes 100 has megabits in mind.
        if not rate[-1].isalpha():
            raise PlanError(f'{option}: "{rate}" has no unit: {LINE_EXAMPLE}')
        if not slowest <= quantity.rate(rate) <= fastest:
            raise PlanError(f'{option}: "{rate}" is out of range: a line has {SLOWEST} to {FASTEST}; {LINE_EXAMPLE}')
    return line


def _checked(option: str, read: Callable[[Any], object], value: object) -> None:
    """Raises PlanError with the option where what it says cannot be read."""
    try:
        read(value)
    except MistakeAt as mistake:
        raise PlanError(f"{option}: {mistake}") from None
    except ValueError as error:
        raise PlanError(f"{option}: {error}" if option else str(error)) from None
