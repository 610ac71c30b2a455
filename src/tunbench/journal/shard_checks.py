"""Whether what a journal says of a shard is what a plan makes: each axis with a value that has all that it must."""

from typing import Any

from tunbench.journal.bounds import MAX_NUMBER
from tunbench.journal.checks import (
    NAME,
    NUMBER,
    WHOLE,
    Check,
    InvalidEvent,
    check_facts,
    check_names,
    check_table,
    is_name,
    is_number,
    is_whole,
    that,
)
from tunbench.runner.declare import axes
from tunbench.runner.declare.access import (
    DERIVED,
    DSCP,
    FAMILIES,
    FIREWALLS,
    FRAGMENTS,
    ICMP,
    KEPT,
    NATS,
    NONE,
    PATH,
    PORTMAPS,
)
from tunbench.runner.declare.link import FIFO, FRAMINGS, QUEUES, SEGMENTATIONS, Direction
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.declare.options import Option


def check_terms(value: Any) -> None:
    """Terms of netem. Raises InvalidEvent, or any error of a wrong type."""
    for name, one in value.items():
        if not _is_term(TERMS[name].option, one):
            raise InvalidEvent(f"{name!r:.80}")


def _is_term(declared: Option, value: Any) -> bool:
    """Whether netem has such a term; the kernel's own may be above the largest that a plan may ask for."""
    match declared.kind:
        case "choice":
            return value in declared.choices
        case "switch":
            # Told as a number too: all terms are.
            return value in (False, True)
        case kind:
            return is_number(value) and declared.low <= value <= (1 if kind == "ratio" else MAX_NUMBER)


def _profile(value: Any) -> None:
    check_table(
        value, {"name": NAME, "forward": check_terms, "reverse": check_terms, "placement?": NAME}, "the profile"
    )


def _link(value: Any) -> None:
    """A link, whose directions have numbers alone."""
    needed = {name for name in LINK if not name.endswith("?")}
    if not needed <= value.keys() <= {name.removesuffix("?") for name in LINK}:
        raise InvalidEvent("it has something else than a link has")
    check_table(value, LINK, "the link")


def _way(value: Any) -> None:
    numbers = {name: one for name, one in value.items() if name != "queue"}
    if not value.keys() <= set(Direction._fields) or not all(map(is_number, numbers.values())):
        raise InvalidEvent
    if value.get("queue", FIFO) not in QUEUES:
        raise InvalidEvent("it has an unknown queue")


def _accesses(value: Any) -> None:
    """The accesses of a shard: a name, or a table of those that stand before its nodes."""
    if isinstance(value, str):
        return NAME(value)
    if value.keys() != {"name", "default", "own"}:
        raise InvalidEvent("it has something else than accesses have")
    NAME(value["name"])
    for one in (value["default"], *value["own"].values()):
        if one is not None:
            _access(one)
    if not all(map(is_name, value["own"])):
        raise InvalidEvent


def _access(value: Any) -> None:
    if value.keys() - {"portmap", "family"} != {name for name in ACCESS if not name.endswith("?")}:
        raise InvalidEvent("it has something else than an access has")
    check_table(value, ACCESS, "the access")


def _machine(value: Any) -> None:
    check_table(value, {"name": NAME, "without?": check_names, "speed?": WHOLE}, "the machine")


def _named(value: Any) -> None:
    if isinstance(value, dict):
        check_facts(value)
    NAME(value["name"] if isinstance(value, dict) else value)


def check_spec(value: Any) -> None:
    """All that a shard was given. Raises InvalidEvent, or any error of a wrong type."""
    check_table(value, SPEC, "a shard")


NAT = that([NONE, *NATS].__contains__)

LINK: dict[str, Check] = {
    **{"name": NAME, "up": _way, "down": _way, "mtu": WHOLE},
    **{"framing": that(FRAMINGS.__contains__), "segmentation": that(SEGMENTATIONS.__contains__)},
    "gro?": NUMBER,
}

ACCESS: dict[str, Check] = {
    **{"name": NAME, "link": _link, "nat": NAT, "carrier": NAT, "firewall": that([DERIVED, *FIREWALLS].__contains__)},
    **dict.fromkeys(("delay", "jitter", "udp_mapping", "tcp_mapping"), NUMBER),
    **{"allow": check_names, "deny": check_names, "mss": that(lambda value: value in (KEPT, PATH) or is_whole(value))},
    **{"icmp": that(ICMP.__contains__), "fragments": that(FRAGMENTS.__contains__), "dscp": that(DSCP.__contains__)},
    "portmap?": that(PORTMAPS.__contains__),
    "family?": that(FAMILIES.__contains__),
}

SPEC: dict[str, Check] = {
    **{f"{axis}?" if axis in axes.UNSAID else axis: _named for axis in axes.SHARD},
    **{"stack": NAME, "profile": _profile},
    **{"access?": _accesses, "link": _link, "machine": _machine},
    **{"repeat": WHOLE, "seed": WHOLE, "workloads?": check_names},
}
