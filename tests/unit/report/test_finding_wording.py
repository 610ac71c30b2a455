"""The closed grammar of sentences: each form, golden."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.pages import view_of
from tests.helpers.records import MANIFEST, record, trial
from tunbench.analysis.compare.two_samples import Shift
from tunbench.analysis.findings.differences import Difference
from tunbench.analysis.findings.findings import Ahead, Alike, Failing, Finding, Leading, TooFew, TooMany, Uncompared
from tunbench.analysis.findings.questions import Asked, Contest
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.shares import Ratio
from tunbench.journal.record import TrialResult
from tunbench.report import finding_wording
from tunbench.runner.declare import axes

GOLDEN = Path(__file__).parents[2] / "golden" / "sentences.txt"

DSL = {"profile": "baseline", "access": "home-dsl"}
LOW = {"profile": "low"}

TCP = Asked("iperf3-tcp:duration=2", "throughput", "bit/s", "a-b", "b")
DOWN = Asked("iperf3-tcp:duration=2", "throughput", "bit/s", "a-b", "a")
PING = Asked("ping", "rtt", "s", "a-b", "a")
LOSS = Asked("ping", "loss", "ratio", "a-b", "a")
WEB = Asked("http", "request-rate", "1/s", "a-b", "a")
COST = Asked("iperf3-tcp:duration=2", "cost", "s/B", "a-b", "lab")
MTU = Asked("pmtu", "pmtu", "B", "a-b", "a")
REBOOT = Asked("recover:event=reboot", "blocked", "s", "a-b", "a")
CHATTER = Asked("idle", "idle-rate", "bit/s", "a-b", "a")
AT_REST = Asked("idle", "idle-cpu", "ratio", "a-b", "lab")
JITTER = Asked("iperf3-udp", "jitter", "s", "a-b", "b")
UP = Asked("up", "connect", "s", "a-b", "a")
QUESTIONS = [TCP, DOWN, PING, LOSS, WEB, COST, MTU, REBOOT, UP, CHATTER, AT_REST, JITTER]


def ran(**condition: str) -> TrialResult:
    where = {"stack": "gre", **axes.USUAL, "workload": "ping", "repeat": 1, "seed": 1, **condition}
    return trial(where, [("rtt", "s", 1.0, 0.0)])


def run() -> RunAnalysis:
    """A run of three conditions."""
    return view_of(record([ran(profile="baseline"), ran(**DSL), ran(**LOW)], manifest=MANIFEST)).runs[0]


def contest(asked: Asked, condition: str = "baseline · none", underlay: str = "ip") -> Contest:
    return Contest(condition, underlay, asked, {})


def by(ratio: tuple[float, float, float] | None, shift: tuple[float, float, float], **more: Any) -> Difference:
    n = more.pop("n", (10, 10))
    share = Ratio(min(n), *ratio, 0.95, "95 % interval", more.get("paired", False)) if ratio else None
    return Difference(share, Shift(*shift, 0.95), n)


FASTER = by((1.27, 1.19, 1.36), (9e6, 7e6, 1e7))
FORMS: list[Finding] = [
    Failing("openvpn", "failed", 3, 40),
    TooFew(3, 3, 12, 6),
    TooFew(4, 5, 1, 6),
    TooMany(123_456),
    Uncompared("openvpn", 5, 5, 4, 4),
    Uncompared("openvpn", 1, 5, 3, 12),
    Ahead(contest(TCP, "baseline · home-dsl"), "wireguard", "openvpn", 2, FASTER),
    Ahead(contest(DOWN, "low · none"), "wireguard", "openvpn", 5, FASTER),
    Ahead(contest(TCP, underlay="ethernet"), "macvlan", "vlan", 2, by((2.0, 1.9, 2.1), (1, 1, 1), paired=True)),
    Ahead(contest(PING), "gre", "ipip", 2, by((0.83, 0.8, 0.86), (-1e-3, -2e-3, -9e-4), n=(10, 9))),
    Ahead(contest(LOSS), "gre", "ipip", 2, by(None, (-0.004, -0.005, -0.003))),
    Ahead(contest(WEB), "gre", "ipip", 2, FASTER),
    Ahead(contest(COST), "gre", "ipip", 2, by((0.5, 0.4, 0.6), (-1e-9, -2e-9, -5e-10))),
    Ahead(contest(MTU), "gre", "ipip", 2, by((1.05, 1.05, 1.05), (70, 70, 70))),
    Ahead(contest(REBOOT), "openvpn", "wireguard", 2, by((0.1, 0.09, 0.12), (-15.2, -17, -14))),
    Ahead(contest(UP), "wireguard", "openvpn", 3, by((0.1, 0.09, 0.12), (-1.2, -1.3, -1.1), paired=True)),
    *(
        Ahead(contest(asked), "gre", "ipip", 2, by((0.1, 0.09, 0.12), (-1, -2, -0.5)))
        for asked in (CHATTER, AT_REST, JITTER)
    ),
    Leading(contest(TCP), ("gre", "ipip"), "openvpn", 5, FASTER),
    Leading(contest(TCP), ("gre", "ipip"), "openvpn", 5, FASTER, last=False),
    Leading(contest(TCP), ("gre", "ipip", "fou", "vxlan"), "openvpn", 5, FASTER),
    Alike((contest(PING),), ("gre", "ipip"), False),
    Alike((contest(PING), contest(LOSS)), ("gre", "ipip", "fou", "vxlan", "geneve"), False),
    Alike(tuple(map(contest, (PING, LOSS, WEB, COST, MTU))), ("gre", "ipip", "fou"), True),
]


def test_each_form_of_a_sentence_is_the_golden_one() -> None:
    analysis = run()
    told = "".join(f"{finding_wording.sentence(form, analysis, QUESTIONS)}\n" for form in FORMS)
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.write_text(told, encoding="utf-8")
    assert told == GOLDEN.read_text(encoding="utf-8")


def test_the_grammar_is_closed() -> None:
    assert {type(form) for form in FORMS} == set(Finding.__args__)


def test_a_single_bare_condition_needs_no_words() -> None:
    analysis = view_of(record([ran(profile="baseline")])).runs[0]
    assert finding_wording.where("baseline", analysis) == ""
    [told] = [finding_wording.sentence(Ahead(contest(TCP, "baseline"), "gre", "fou", 2, FASTER), analysis, QUESTIONS)]
    assert told.startswith("gre carries")


def test_accesses_of_two_sites_are_both_named() -> None:
    analysis = view_of(record([ran(profile="baseline", access="none,a=dsl,b=fibre")])).runs[0]
    [condition] = analysis.conditions.values()
    assert finding_wording.where(condition, analysis) == "behind dsl and fibre"


@pytest.mark.parametrize("count", [0, 3, 9])
def test_there_are_six_sentences_at_most(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_wording, "findings", lambda *_: [TooMany(1)] * count)
    view = view_of(record([ran(profile="baseline")]))
    assert len(finding_wording.sentences(view.runs[0], view.answers[0])) == min(6, count)
