"""Whatever becomes of a tool's output on its way, a parser gives sound values or says what is wrong."""

import json
import os
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.outputs import JSON, LASTED, NUMBERS, PARSERS, READERS, VALUES, edited, sound, spoilt, walk
from tunbench.runner import registry
from tunbench.runner.bounds import BOUNDS, impossible
from tunbench.runner.trials import FAILURES
from tunbench.runner.workload import Metric, Sample

FEW = int(os.environ.get("TUNBENCH_MUTATED", "2000"))
"""Outputs that are spoilt, of all parsers together; the long test takes fifty times as many."""

EACH = 1 + FEW // (len(PARSERS) + len(READERS))


@pytest.mark.parametrize("name", PARSERS)
def test_the_real_output_is_sound(name: str) -> None:
    parser = PARSERS[name]
    assert parser.parse(parser.texts[0]) and sound(parser, parser.texts[0])
    for text in parser.texts:
        sound(parser, text)


def test_every_workload_has_its_parser_here() -> None:
    mine = {name.partition(":")[0] for name in PARSERS}
    assert mine >= set(registry.workload_names())


@pytest.mark.parametrize("name", PARSERS)
def test_output_that_was_spoilt_gives_sound_values_or_has_failed(name: str) -> None:
    accepted = [sound(PARSERS[name], spoilt(PARSERS[name], Random(f"{name}/{seed}"))) for seed in range(EACH)]
    assert not all(accepted)


@pytest.mark.long
@pytest.mark.parametrize("name", PARSERS)
def test_much_output_that_was_spoilt(name: str) -> None:
    for seed in range(50 * EACH):
        sound(PARSERS[name], spoilt(PARSERS[name], Random(f"{name}/{seed}")))


def read(name: str, seed: int) -> None:
    reader, texts = READERS[name]
    dice = Random(f"{name}/{seed}")
    try:
        reader(edited(dice.choice(texts), dice))
    except FAILURES:
        return


@pytest.mark.parametrize("name", READERS)
def test_what_a_node_shows_can_be_read_or_has_failed(name: str) -> None:
    reader, texts = READERS[name]
    assert all(reader(text) for text in texts)
    for seed in range(EACH):
        read(name, seed)


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_much_of_what_a_node_shows(name: str) -> None:
    for seed in range(50 * EACH):
        read(name, seed)


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
@settings(deadline=None, max_examples=30)
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
