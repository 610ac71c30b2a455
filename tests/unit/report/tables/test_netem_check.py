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

ASKED = {"delay": 0.02, "jitter": 33e-6, "rate": 1234567.0}


def profile(**terms: Any) -> Any:
    return read_profile({"name": "x", **terms})


def rows(installed: Any) -> list[Any]:
    table = {"name": "x", "placement": "router", "forward": ASKED, "reverse": {"loss": 0.1}}
    manifest = {**MANIFEST, "plan": {**MANIFEST["plan"], "profiles": [table]}}
    trials = [trial(cell("none", "x"), [("rtt", "s", 1e-3, 0.0)])]
    return impairments(analyse(record(trials, manifest=manifest, installed=installed))).rows


def test_a_rounded_term_is_shown_as_what_it_became() -> None:
    became = {"limit": 1000.0, "delay": 0.02, "jitter": 32e-6, "delay_correlation": 0.0, "rate": 1234560.0, "gap": 0.0}
    [row] = rows(((ASKED, became),))
    assert row.forward.replace("\xa0", " ") == ("delay 20 ms ± 33 µs, rate 1.23457 Mbit/s; installed: jitter 32 µs")
    assert row.reverse.replace("\xa0", " ") == "loss 10 %"
    assert rows(())[0].forward.endswith("Mbit/s")


def test_a_value_that_was_only_printed_is_not_said_to_differ() -> None:
    [row] = rows(((ASKED, {**ASKED, "rate": 1234560.0, "delay": 0.0200001}),))
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
        ({"rate": "1M"}, None, 0),
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


def test_terms_in_words() -> None:
    given = profile(delay="10ms", jitter="1ms", distribution="normal", loss="1%", ecn=True, rate="1M", cellsize="48")
    assert wording(given.forward).replace("\xa0", " ") == (
        "delay 10 ms ± 1 ms, distribution normal, loss 1 %, ecn, rate 1 Mbit/s, cellsize 48 B"
    )
