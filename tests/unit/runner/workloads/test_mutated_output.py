"""Whatever becomes of a tool's output on its way, a parser gives sound values or says what is wrong."""

import json
import re
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.outputs import JSON, LASTED, NUMBERS, PARSERS, READERS, VALUES, edited, sound, spoilt, walk
from tunbench.runner import registry
from tunbench.runner.bounds import impossible
from tunbench.runner.declare.metrics import BOUNDS, Metric
from tunbench.runner.trials import FAILURES
from tunbench.runner.workload import Sample

FEW, MANY = 2_000, 100_000
"""Outputs that are spoilt, of all parsers together: always, and in the long test."""

READ, REFUSED = "read, all values within physical bounds", "refused with what is wrong"


@pytest.mark.parametrize("name", PARSERS)
def test_the_real_output_is_sound(name: str) -> None:
    parser = PARSERS[name]
    assert parser.parse(parser.texts[0]) and sound(parser, parser.texts[0])
    for text in parser.texts:
        sound(parser, text)


def test_every_workload_has_its_parser_here() -> None:
    missing = set(registry.workload_names()) - {name.partition(":")[0] for name in PARSERS}
    mend = "captured output and its parser belong into PARSERS of tests/helpers/outputs.py"
    assert not missing, f"{', '.join(sorted(missing))}: {mend} (docs/adding-a-tunnel.md, A workload)"


@pytest.mark.parametrize("name", READERS)
def test_what_a_node_really_shows_can_be_read(name: str) -> None:
    reader, texts = READERS[name]
    assert all(reader(text) for text in texts)


@pytest.mark.reliability
def test_2000_outputs_that_were_spoilt_give_sound_values_or_have_failed(
    record_property: Callable[[str, object], None],
) -> None:
    record_property("reliability", spoil(FEW))


@pytest.mark.reliability
@pytest.mark.long
@pytest.mark.timeout(7200)
def test_100000_outputs_that_were_spoilt_give_sound_values_or_have_failed(
    record_property: Callable[[str, object], None],
) -> None:
    record_property("reliability", spoil(MANY))


def spoil(count: int) -> str:
    """Spoils so many outputs, as many of each parser and reader, and says what came of them."""
    names = [*PARSERS, *READERS]
    ends = Counter((name, survived(name, seed)) for seed in range(-(-count // len(names))) for name in names)
    assert all(ends[name, REFUSED] for name in PARSERS), "of each, some are refused"
    told = (f"{sum(number for (_, end), number in ends.items() if end == what):,} {what}" for what in (READ, REFUSED))
    return f"{ends.total():,} outputs for {len(names)} parsers: {', '.join(told)}"


def survived(name: str, seed: int) -> str:
    """What came of an output that was spoilt: anything else raises, and names the seed."""
    dice = Random(f"{name}/{seed}")
    try:
        if name in PARSERS:
            return READ if sound(PARSERS[name], spoilt(PARSERS[name], dice)) else REFUSED
        reader, texts = READERS[name]
        reader(edited(dice.choice(texts), dice))
    except FAILURES:
        return REFUSED
    except Exception as error:
        error.add_note(f"the output was that of {name}, with the seed {name}/{seed}")
        raise
    return READ


@pytest.mark.parametrize("name", JSON)
def test_every_value_of_the_json_may_be_anything(name: str) -> None:
    parser = PARSERS[name]
    data = json.loads(parser.texts[0])
    # Of many places some are enough: the entries of a list are read alike.
    for container, key in walk(data)[:: max(1, len(walk(data)) // 150)]:
        before = container[key]
        for value in VALUES:
            container[key] = value
            sound(parser, json.dumps(data))
        container[key] = before
    assert parser.parse(json.dumps(data)) == parser.parse(parser.texts[0])


@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_of_ping_may_be_anything(number: str) -> None:
    for text in PARSERS["ping"].texts:
        for found in re.finditer(r"\d+(\.\d+)?", text):
            sound(PARSERS["ping"], text[: found.start()] + number + text[found.end() :])


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=30)
@given(text=st.text())
def test_any_text_has_failed(name: str, text: str) -> None:
    if name not in ("tc", "pmtu:route") or text.strip():
        with pytest.raises(FAILURES):
            PARSERS[name].parse(text)


METRICS = {f"in {unit}": Metric(unit, "anything") for unit in BOUNDS}


@pytest.mark.parametrize("unit", BOUNDS)
def test_a_value_beyond_its_bounds_is_told(unit: str) -> None:
    name, (low, high) = f"in {unit}", BOUNDS[unit]
    most = min(high, 1.01 * LASTED + 1) if unit == "s" else high
    for value in (low, most, (low + most) / 2):
        assert impossible([Sample(name, value)], METRICS, LASTED) == []
    for value in (float("nan"), float("inf"), -float("inf"), most + 1e-3 * most, low - 1e-3):
        assert impossible([Sample(name, value), Sample(name, value)], METRICS, LASTED) == [
            f"{name} of {value:g} {unit}"
        ]


def test_a_moment_beyond_the_trial_is_told() -> None:
    metrics = {"rtt": Metric("s", "a round trip")}
    assert impossible([Sample("rtt", 0.1, 10.0)], metrics, 10.0) == []
    for at in (12.0, -0.1, float("nan")):
        assert impossible([Sample("rtt", 0.1, at)], metrics, 10.0) == [f"rtt at {at:g} s"]


def test_every_metric_has_bounds() -> None:
    units = {one.unit for name in registry.workload_names() for one in registry.workload(name).ABOUT.metrics.values()}
    units |= {one.unit for name in registry.probe_names() for one in registry.probe(name).ABOUT.metrics.values()}
    assert units <= BOUNDS.keys()


def test_json_that_can_just_be_read_and_not_be_shown_has_failed() -> None:
    parser = PARSERS["iperf3-udp"]
    data = json.loads(parser.texts[0])
    data["intervals"][0]["sum"]["bytes"] = "@"
    # How much of the stack is left is not known.
    for depth in range(800, 1000):
        with pytest.raises(FAILURES):
            parser.parse(json.dumps(data).replace('"@"', '{"a":' * depth + "1" + "}" * depth))
