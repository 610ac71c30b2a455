"""Where packets vanished while a workload lasted: in netem by its loss, for want of room, or in the queue of a link."""

import json
from typing import Any

import pytest

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, captured
from tunbench.runner.declare.link import Direction
from tunbench.runner.network.drops import Place, Watch
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

RATE = Direction(50e6, queue_packets=100)
LOSS = {"loss": 0.01}
NOTHING = {"packets": 0, "bytes": 0, "drops": 0, "qlen": 0}


def qdisc(kind: str, packets: int, drops: int = 0, qlen: int = 0) -> dict[str, Any]:
    return {"kind": kind, "packets": packets, "bytes": 1000 * packets, "drops": drops, "qlen": qlen}


class Interface(FakeShell):
    """An interface that shows one state after the other."""

    def __init__(self, *states: list[dict[str, Any]]) -> None:
        self.states = list(states)
        super().__init__({"tc -s -j qdisc show dev to-b": lambda _: Result(0, json.dumps(self.states.pop(0)), "")})


def told(place: tuple[Any, Any], *states: list[dict[str, Any]]) -> FakeEvents:
    """What is told of an interface that shows these states: before the first workload, and after each."""
    events = FakeEvents()
    watch = Watch([Place(Node("router", Interface(*states), events), "to-b", *place)])
    for number in range(1, len(states)):
        watch.tell(f"ping:count={number}", events)
    return events


def warnings(events: FakeEvents) -> list[tuple[str, str]]:
    return [(one["name"], one["text"]) for one in events.of("warning")]


def counters(events: FakeEvents) -> list[dict[str, dict[str, int]]]:
    return [one["counters"] for one in events.of("queue")]


def test_each_workload_has_what_was_counted_while_it_lasted() -> None:
    events = told(
        (LOSS, None), [qdisc("netem", 1000, 10)], [qdisc("netem", 3000, 30, 7)], [qdisc("netem", 3000, 31, 2)]
    )
    first, second = counters(events)
    assert first == {"netem": {"packets": 2000, "bytes": 2_000_000, "drops": 20, "qlen": 7}, "link": NOTHING}
    assert second == {"netem": {"packets": 0, "bytes": 0, "drops": 1, "qlen": 2}, "link": NOTHING}
    assert [(one["node"], one["interface"], one["workload"]) for one in events.of("queue")] == [
        ("router", "to-b", "ping:count=1"),
        ("router", "to-b", "ping:count=2"),
    ]
    assert warnings(events) == []


def test_what_the_queue_of_a_link_dropped_is_no_loss_of_the_network() -> None:
    # netem counts what the shaper behind it dropped as its own: 25 of these are its loss.
    before = [qdisc("netem", 500, 5), qdisc("tbf", 500)]
    after = [qdisc("netem", 2975, 430), qdisc("tbf", 2975, 400, 100)]
    events = told((LOSS, RATE), before, after)
    assert counters(events) == [
        {
            "netem": {"packets": 2875, "bytes": 2_475_000, "drops": 25, "qlen": 0},
            "link": {"packets": 2475, "bytes": 2_475_000, "drops": 400, "qlen": 100},
        }
    ]
    assert warnings(events) == [
        (
            "queue-drops",
            "ping:count=1: router/to-b: 400 of 2875 packets found the link's queue of 100 packets full, at 50 Mbit/s",
        )
    ]


def test_a_queue_of_so_much_time_is_told_so() -> None:
    direction = Direction(1.5e6, queue_seconds=0.05)
    [(_, text)] = warnings(told(({}, direction), [qdisc("tbf", 0)], [qdisc("tbf", 99, 1)]))
    assert text == "ping:count=1: router/to-b: 1 of 100 packets found the link's queue of 0.05 s full, at 1.5 Mbit/s"


def test_a_link_alone_counts_nothing_of_netem() -> None:
    events = told(({}, RATE), [qdisc("tbf", 10)], [qdisc("tbf", 30)])
    assert counters(events) == [
        {"netem": NOTHING, "link": {"packets": 20, "bytes": 20_000, "drops": 0, "qlen": 0}},
    ]
    assert warnings(events) == []


def test_what_netem_had_no_room_for_is_told_beside_its_loss() -> None:
    full = told((LOSS, None), [qdisc("netem", 0)], [qdisc("netem", 1000, 300)])
    assert warnings(full) == [
        (
            "netem-limit",
            "ping:count=1: router/to-b: 300 of 1300 packets were dropped, more than a loss of 1.000% explains: "
            "there was no room",
        )
    ]


def test_a_drop_is_warned_of_once() -> None:
    full = [qdisc("netem", 1000, 300), qdisc("tbf", 1000, 100)]
    events = told((LOSS, RATE), [qdisc("netem", 0), qdisc("tbf", 0)], full, full)
    assert [name for name, _ in warnings(events)] == ["netem-limit", "queue-drops"]
    assert counters(events)[1] == {"netem": NOTHING, "link": NOTHING}


@pytest.mark.parametrize("state", [[], [qdisc("noqueue", 0)]])
def test_where_there_is_neither_nothing_is_counted(state: list[dict[str, Any]]) -> None:
    events = told(({}, None), state, state)
    assert counters(events) == [{"netem": NOTHING, "link": NOTHING}]
    assert warnings(events) == []


def policed(packets: int, drops: int) -> str:
    """What `tc` shows of a policer that has looked at so many packets."""
    shown: Any = json.loads(captured("filter-policer.json"))
    shown[1]["options"]["actions"][0]["stats"] |= {"packets": packets, "bytes": 1000 * packets, "drops": drops}
    return json.dumps(shown)


def test_a_policer_is_counted_where_packets_come_out() -> None:
    states = [policed(0, 0), policed(100, 30)]
    answers: dict[str, Answer] = {
        "tc -s -j qdisc show dev to-b": json.dumps([qdisc("netem", 200, 2)]),
        "tc -s -j filter show dev wan ingress": lambda _: Result(0, states.pop(0), ""),
    }
    shell, events = FakeShell(answers), FakeEvents()
    router, gateway = Node("router", shell, events), Node("gateway-b", shell, events)
    way = Direction(10e6, queue="policer", burst=15_140)
    watch = Watch([Place(router, "to-b", LOSS, way, (gateway, "wan"))])
    watch.tell("ping", events)
    [counted] = counters(events)
    # The kernel counts what it drops among packets and bytes.
    assert counted["link"] == {"packets": 70, "drops": 30, "qlen": 0}
    assert counted["netem"] == NOTHING
    [(name, text)] = warnings(events)
    assert (name, text.partition(": ")[2]) == (
        "queue-drops",
        "router/to-b: 30 of 100 packets found no token in the link's policer of 15140 B, at 10 Mbit/s",
    )


@pytest.mark.parametrize("queue", ["fq_codel", "cake"])
def test_what_a_queue_marks_is_told_beside_what_it_drops(queue: str) -> None:
    way = Direction(10e6, queue=queue)

    def state(packets: int, drops: int, marked: int) -> list[dict[str, Any]]:
        marks = {"ecn_mark": marked} if queue == "fq_codel" else {"tins": [{"ecn_mark": marked}, {"ecn_mark": 0}]}
        shaper = [] if queue == "cake" else [qdisc("tbf", packets, drops)]
        return [*shaper, {**qdisc(queue, packets, drops), **marks}]

    events = told(({}, way), state(0, 0, 0), state(90, 10, 4))
    [counted] = counters(events)
    assert counted["link"] == {"packets": 90, "bytes": 90_000, "drops": 10, "qlen": 0, "marks": 4}
    [(_, text)] = warnings(events)
    assert text.endswith(f"10 of 100 packets were dropped by the link's {queue}, at 10 Mbit/s")


def test_there_may_be_no_place_at_all() -> None:
    Watch([]).tell("ping", events := FakeEvents())
    assert events.told == []
