"""The report's table of impairments: what was asked for, what became of it, and what to expect."""

from typing import Any

import pytest

from tests.helpers.records import MANIFEST, cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.journal import journal
from tunbench.journal.read import read_lines
from tunbench.journal.readers.journal import assemble
from tunbench.plan.axes.profile import read_profile
from tunbench.report.tables.netem_check import expected_delay, expected_loss, impairments, wording
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.network.underlay import WIRE

ASKED = {"delay": 0.02, "jitter": 33e-6, "loss": 0.01234567}


def profile(**terms: Any) -> Any:
    return read_profile({"name": "x", **terms})


def rows(installed: Any) -> list[Any]:
    table = {"name": "x", "placement": "router", "forward": ASKED, "reverse": {"loss": 0.1}}
    manifest = {**MANIFEST, "plan": {**MANIFEST["plan"], "profiles": [table]}}
    trials = [trial(cell("none", "x"), [("rtt", "s", 1e-3, 0.0)])]
    return impairments(analyse(record(trials, manifest=manifest, installed=installed))).rows


def test_a_rounded_term_is_shown_as_what_it_became() -> None:
    became = {"delay": 0.02, "jitter": 32e-6, "delay_correlation": 0.0, "loss": 0.0123457, "gap": 0.0}
    [row] = rows(((ASKED, became),))
    assert row.forward.replace("\xa0", " ") == "delay 20 ms ± 33 µs, loss 1.23457 %; installed: jitter 32 µs"
    assert row.reverse.replace("\xa0", " ") == "loss 10 %"
    assert rows(())[0].forward.endswith("%")


def test_a_value_that_was_only_printed_is_not_said_to_differ() -> None:
    [row] = rows(((ASKED, {**ASKED, "loss": 0.0123457, "delay": 0.0200001}),))
    assert "installed" not in row.forward


def test_the_journal_says_what_was_installed_once() -> None:
    run = {"event": "run", "journal": journal.VERSION, "planned": 1, "manifest": MANIFEST}
    told = {"event": "impairment", "shard": "1", "asked": ASKED, "installed": {"kind": "netem", "terms": {"gap": 0.0}}}
    older = {**told, "installed": {"kind": "netem"}}
    assert assemble(read_lines([run, told, told, older])).installed == ((ASKED, {"gap": 0.0}), (ASKED, {}))


@pytest.mark.parametrize(
    ("terms", "delay", "loss"),
    [
        ({"delay": "10ms", "reverse": {"loss": "10%"}}, 0.01, 0.1),
        ({"delay": "10ms", "reorder": "50%", "gap": "2"}, 2 * 0.01 * (1 - 1 / 3), 0),
        ({"gemodel_p": "1%", "gemodel_r": "9%", "reverse": {}}, 0, 0.1),
        ({"delay": "10ms", "jitter": "1ms", "distribution": "pareto", "reverse": {}}, 0.01 - 33.49e-6, 0),
        ({"slot_min_delay": "1ms"}, None, 0),
        ({"delay": "9ms", "jitter": "1ms", "duplicate": "1%"}, None, None),
        ({"corrupt": "1%"}, 0, None),
        ({"loss": "1%", "loss_correlation": "25%", "reverse": {}}, 0, None),
    ],
)
def test_expectations_are_given_where_they_are_known(
    terms: dict[str, Any], delay: float | None, loss: float | None
) -> None:
    assert expected_delay(profile(**terms)) == (delay if delay is None else pytest.approx(delay, rel=1e-4))
    assert expected_loss(profile(**terms)) == (loss if loss is None else pytest.approx(loss))


def test_the_links_take_their_time_of_a_round_trip_too() -> None:
    assert expected_delay(profile(delay="10ms"), 300e-6) == pytest.approx(0.0203)
    assert expected_delay(profile(slot_min_delay="1ms"), 300e-6) is None
    asked = {"name": "x", "placement": "router", "forward": {"delay": 0.01}, "reverse": {"delay": 0.01}}
    manifest = {**MANIFEST, "plan": {**MANIFEST["plan"], "profiles": [asked]}}
    trials = [trial(cell("none", "x"), [("rtt", "s", 1e-3, 0.0)])]
    for specs, mean in (({}, "20.0 ms"), ({"link": {"wire": WIRE.spec()}}, "20.3 ms")):
        [row] = impairments(analyse(record(trials, manifest=manifest, specs=specs))).rows
        assert row.mean.replace("\xa0", " ") == mean


def test_what_frames_take_on_a_narrow_link_is_expected_too() -> None:
    asked = {"name": "x", "placement": "router", "forward": {"delay": 0.01}, "reverse": {"delay": 0.01}}
    manifest = {**MANIFEST, "plan": {**MANIFEST["plan"], "profiles": [asked]}}
    line = Link("line", Direction(1e6), Direction(16e6))
    trials = [
        trial(cell("none", "x", f"ping:count=1,size={size}") | {"link": "line"}, [("rtt", "s", 1e-3, 0.0)])
        for size in (56, 1400)
    ]
    [row] = impairments(analyse(record(trials, manifest=manifest, specs={"link": {"line": line.spec()}}))).rows
    # 20 ms and 0.3 ms; 122 and 1466 bytes on the wire take 6.352 ms each way on average.
    assert row.mean.replace("\xa0", " ") == "33.8 ms"


def test_round_trips_of_workloads_that_repair_losses_are_not_those_of_the_network() -> None:
    table = {"name": "x", "placement": "router", "forward": ASKED, "reverse": {}}
    manifest = {**MANIFEST, "plan": {**MANIFEST["plan"], "profiles": [table]}}
    trials = [
        trial(cell("none", "x", workload), [("rtt", "s", seconds, 0.0)])
        for workload, seconds in (("ping:count=1", 14.7e-3), ("rr:proto=tcp", 0.23))
    ]
    [row] = impairments(analyse(record(trials, manifest=manifest))).rows
    assert row.measured_mean.replace("\xa0", " ") == "14.7 ms"


def test_terms_in_words() -> None:
    given = profile(delay="10ms", jitter="1ms", distribution="normal", loss="1%", ecn=True, duplicate="2%")
    assert wording(given.forward).replace("\xa0", " ") == (
        "delay 10 ms ± 1 ms, distribution normal, loss 1 %, ecn, duplicate 2 %"
    )
