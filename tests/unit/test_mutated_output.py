"""Whatever becomes of a tool's output on its way, a parser gives sound values or says that the workload failed."""

import copy
import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.fakes import captured
from tunbench.runner import iperf3
from tunbench.runner.workload import Sample, WorkloadFailed
from tunbench.runner.workloads import iperf2_tcp, iperf2_udp, iperf3_tcp, iperf3_udp, ping

PINGS = [
    captured(f"ping-{name}.txt")
    for name in ("clean", "loss-dup", "all-lost", "corrupt", "slow", "small", "unreachable")
]
TCP = [captured(f"iperf3-{name}.json") for name in ("tcp", "tcp-reverse", "killed", "connect")]
UDP = [captured("iperf3-udp.json")]
NAMES = ("a", "b")


def both(*names: str) -> list[str]:
    """What the client and the server of iperf 2 printed, with a form feed between."""
    return ["\f".join(captured(f"iperf2-{name}-{who}.txt") for who in ("client", "server")) for name in names]


Parse = Callable[[str], list[Sample]]
PARSERS: dict[str, tuple[Parse, list[str]]] = {
    "ping": (lambda text: ping.parse(text, 0.01), PINGS),
    "iperf3-tcp": (lambda text: iperf3_tcp.parse(iperf3.load(text)), TCP),
    "iperf3-udp": (lambda text: iperf3_udp.parse(iperf3.load(text)), UDP),
    "iperf3-tcp:bidir": (
        lambda text: iperf3_tcp.parse(iperf3.load(text), NAMES),
        [captured("iperf3-tcp-bidir.json")],
    ),
    "iperf3-udp:reverse": (
        lambda text: iperf3_udp.parse(iperf3.load(text), reverse=True),
        [captured("iperf3-udp-reverse.json")],
    ),
    "iperf3-udp:bidir": (
        lambda text: iperf3_udp.parse(iperf3.load(text), bidir=NAMES),
        [captured("iperf3-udp-bidir.json")],
    ),
    "iperf2-tcp": (
        lambda text: iperf2_tcp.parse(*text.partition("\f")[::2]),
        both("tcp", "tcp-bytes", "tcp-pause", "tcp-reset"),
    ),
    "iperf2-udp": (
        lambda text: iperf2_udp.parse(*text.partition("\f")[::2]),
        both("udp", "udp-bytes", "udp-duplicates", "udp-cut"),
    ),
}
JSON = [name for name in PARSERS if name.startswith("iperf3-")]

NUMBERS = ["0", "-1", "-0.5", "1e999", "-1e999", "1" * 20, "9" * 400, "9" * 5000, "1.2.3", ".", "٣", "NaN", "0x1", ""]
VALUES: list[Any] = [
    *(None, True, -1, -0.0, 0, 1, 2**64, 10**400, 1e308, math.inf, -math.inf, math.nan),
    *("1", "", [], {}, [[]], [None]),
]


def sound(parse: Parse, text: str) -> None:
    try:
        samples = parse(text)
    except WorkloadFailed:
        return
    for metric, value, at, _ in samples:
        assert math.isfinite(value), (metric, value)
        assert value >= 0, (metric, value)
        assert at is None or (math.isfinite(at) and at >= 0), (metric, at)
        assert metric != "loss" or value <= 1


def edited(text: str, dice: random.Random) -> str:
    """The text with some characters, numbers or lines changed, torn out or doubled."""
    for _ in range(dice.randint(1, 4)):
        at, to = sorted(dice.choices(range(len(text) + 1), k=2))
        numbers = list(re.finditer(r"\d+(\.\d+)?", text))
        match dice.choice(["cut", "drop", "double", "number", "character", "line"]):
            case "cut":
                text = text[:to]
            case "drop":
                text = text[:at] + text[to:]
            case "double":
                text = text[:to] + text[at:]
            case "number" if numbers:
                found = dice.choice(numbers)
                text = text[: found.start()] + dice.choice(NUMBERS) + text[found.end() :]
            case "line":
                lines = text.splitlines(keepends=True)
                dice.shuffle(lines)
                text = "".join(lines)
            case _:
                text = text[:at] + chr(dice.randint(0, 0x2FF)) + text[at + 1 :]
    return text


def replaced(data: Any, dice: random.Random) -> Any:
    """The data with some values replaced, taken away or doubled, however deep."""
    data = copy.deepcopy(data)
    for _ in range(dice.randint(1, 3)):
        places = list(walk(data))
        if not places:
            break
        container, key = dice.choice(places)
        if dice.random() < 0.2:
            del container[key]
        elif isinstance(container, list) and dice.random() < 0.3:
            container.append(copy.deepcopy(container[key]))
        else:
            container[key] = copy.deepcopy(dice.choice(VALUES))
    return data


def walk(data: Any) -> list[tuple[Any, Any]]:
    """Every place in the data, as what holds it and its key."""
    keys = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    return [place for key in keys for place in ((data, key), *walk(data[key]))]


@pytest.mark.parametrize("name", PARSERS)
def test_the_real_output_is_sound(name: str) -> None:
    parse, texts = PARSERS[name]
    assert parse(texts[0])
    for text in texts:
        sound(parse, text)


@pytest.mark.parametrize("name", PARSERS)
@settings(deadline=None)
@given(seed=st.integers(0, 2**32))
def test_output_that_was_edited_gives_sound_values_or_has_failed(name: str, seed: int) -> None:
    dice = random.Random(seed)
    parse, texts = PARSERS[name]
    sound(parse, edited(dice.choice(texts), dice))


@pytest.mark.parametrize("name", JSON)
@settings(deadline=None)
@given(seed=st.integers(0, 2**32))
def test_json_whose_values_were_replaced_gives_sound_values_or_has_failed(name: str, seed: int) -> None:
    dice = random.Random(seed)
    parse, texts = PARSERS[name]
    sound(parse, json.dumps(replaced(json.loads(dice.choice(texts)), dice)))


@pytest.mark.parametrize("name", JSON)
def test_every_value_of_the_json_may_be_anything(name: str) -> None:
    parse, texts = PARSERS[name]
    data = json.loads(texts[0])
    for container, key in walk(data):
        before = container[key]
        for value in VALUES:
            container[key] = value
            sound(parse, json.dumps(data))
        container[key] = before
    assert parse(json.dumps(data)) == parse(texts[0])


@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_of_ping_may_be_anything(number: str) -> None:
    for text in PINGS:
        for found in re.finditer(r"\d+(\.\d+)?", text):
            sound(PARSERS["ping"][0], text[: found.start()] + number + text[found.end() :])


@pytest.mark.parametrize("name", PARSERS)
@settings(deadline=None)
@given(text=st.text())
def test_any_text_has_failed(name: str, text: str) -> None:
    with pytest.raises(WorkloadFailed):
        PARSERS[name][0](text)
