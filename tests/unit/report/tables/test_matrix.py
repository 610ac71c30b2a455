"""The matrix: every question of a run, one number each, and who is ahead only where that is beyond doubt."""

import random
from typing import Any

from tests.helpers.pages import page_of, view_of
from tests.helpers.records import PING, TCP, cell, realistic, record, trial
from tunbench.journal.record import Record
from tunbench.report import question_words
from tunbench.report.tables import matrix
from tunbench.report.tables.table import BEST, FEW, TIED, Table

LEVELS = {"none": 9e6, "wireguard": 3e6, "openvpn": 1e6, "gre": 3e6}


def speeds(repeats: int, **levels: float) -> Record:
    rng = random.Random(3)
    return record(
        [
            trial(cell(stack, workload=TCP, repeat=repeat), [("throughput", "bit/s", level * rng.gauss(1, 0.01))])
            for repeat in range(repeats)
            for stack, level in levels.items()
        ]
    )


def kinds(table: Table) -> dict[str, str]:
    """The kind of the first number of each stack."""
    return {row.fields[0].text: row.fields[1].kind for row in table.rows}


def test_the_best_is_marked_where_it_is_ahead_of_all_others() -> None:
    found = kinds(matrix.by_stack(view_of(speeds(8, wireguard=3e6, openvpn=1e6, gre=2e6, none=9e6))))
    assert found == {"none": "", "wireguard": BEST, "openvpn": "", "gre": ""}


def test_those_that_are_not_told_from_the_best_are_marked_alike() -> None:
    found = kinds(matrix.by_stack(view_of(speeds(8, **LEVELS))))
    assert found == {"none": "", "wireguard": TIED, "openvpn": "", "gre": TIED}


def test_below_six_trials_there_is_a_range_and_no_winner() -> None:
    table = matrix.by_stack(view_of(speeds(5, **LEVELS)))
    assert set(kinds(table).values()) == {FEW}
    assert "5 trials with its range" in table.caption and "fewer than 6 trials" in table.caption
    page = page_of(speeds(5, **LEVELS))
    assert 'class="number few"' in page and 'class="number best"' not in page and 'class="number tied"' not in page


def test_of_stacks_and_questions_those_stand_across_that_are_fewer() -> None:
    wide = matrix.table(view_of(realistic(1)))
    assert [column.heading for column in wide.columns[:3]] == ["stack", "profile", "TCP throughput a→b"]
    two = [one for one in realistic(1).trials if one.cell["stack"] in ("none", "gre")]
    tall = matrix.table(view_of(record(two)))
    assert [column.heading for column in tall.columns] == ["", "profile", "none", "gre"]
    assert [row.fields[0].text for row in tall.rows[:6]] == [
        *("TCP throughput a→b", "round-trip time", "loss of pings", "cost of a byte of TCP", "first connection"),
        "trials",
    ]


def test_another_number_of_trials_stands_beside_its_value() -> None:
    whole = speeds(8, wireguard=3e6, openvpn=1e6)
    fewer = record([one for one in whole.trials if (one.cell["stack"], one.cell["repeat"]) != ("openvpn", 3)])
    texts = {row.fields[0].text: row.fields[1].text for row in matrix.by_stack(view_of(fewer)).rows}
    assert texts["openvpn"].endswith(" n=7") and "n=" not in texts["wireguard"]


def test_no_two_questions_have_one_name() -> None:
    spelled = (TCP, f"{TCP},parallel=8", "iperf3-tcp:duration=9", "iperf2-tcp", "recover", "recover:event=link", PING)
    values: list[tuple[Any, ...]] = [("throughput", "bit/s", 1e6, None, node) for node in ("a", "b")]
    values += [("blocked", "s", 1.0, 0.0), ("rtt", "s", 1.0, 0.0, "a", "a-b"), ("rtt", "s", 1.0, 0.0, "a", "a-c")]
    view = view_of(record([trial(cell("gre", workload=name), values) for name in spelled]))
    asked = view.answers[0].questions
    names = [question_words.name(one, asked) for one in asked]
    assert len(set(names)) == len(names)
    assert "TCP throughput a→b (parallel 8)" in names and "TCP throughput a→b (duration 9)" in names
    assert "without answers after a cut of the link" in names


def test_warnings_and_sentences_stand_before_the_table() -> None:
    page = page_of(realistic(3))
    first = [
        page.index(text) for text in ("no stack can be told from another", "<code>too-few-trials</code>", 'id="matrix"')
    ]
    assert first == sorted(first)


def test_a_direction_is_that_of_the_bytes() -> None:
    value = [("throughput", "bit/s", 1e6, None, "a")]
    spelled = ("iperf3-tcp", "iperf3-tcp:reverse=on", "iperf3-tcp:parallel=4,reverse=on", "scp")
    view = view_of(record([trial(cell("gre", workload=name), value) for name in spelled]))
    asked = view.answers[0].questions
    assert {question_words.name(one, asked) for one in asked} == {
        *("TCP throughput a→b", "TCP throughput b→a", "TCP throughput b→a (parallel 4)", "throughput of scp")
    }
