"""A plan that is narrowed on the command line: what is left, what is told, and that a run remembers it.

The messages are `tests/golden/narrow/CASE.txt`: TUNBENCH_UPDATE_GOLDEN=1 writes them anew.
"""

import json
import os
from pathlib import Path

import pytest

from tests.helpers import studies
from tests.helpers.packed_runs import whole_run
from tests.helpers.runs import ScriptedLab, invoke, ordered, runs_here
from tunbench.journal.readers.registry import record_of
from tunbench.plan import load as loading
from tunbench.plan.expand import expand
from tunbench.plan.load import PlanError, read
from tunbench.run.order import read_order
from tunbench.run.verify import again, their_run

GOLDEN = Path(__file__).parents[2] / "golden" / "narrow"

TEXT = """\
name = "any"
seed = 5
repeats = 2
stacks = ["none", "wireguard", "wireguard+vxlan", "openvpn"]
workloads = ["ping:count=5", "iperf3-tcp"]
profiles = ["baseline", "medium"]
exclude = [{ stack = "openvpn", profile = "medium" }]
"""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = runs_here(monkeypatch, tmp_path)
    Path("plan.toml").write_text(TEXT)
    return folder


def test_shards_of_fewer_stacks_and_profiles_are_those_of_the_whole() -> None:
    whole = expand(read(TEXT, Path("any.toml")).plan)
    left = expand(read(TEXT, Path("any.toml"), {"stack": ["wireguard*"], "profile": ["medium"]}).plan)
    assert [(one.stack.name, one.profile.name) for one in left] == 2 * [
        ("wireguard", "medium"),
        ("wireguard+vxlan", "medium"),
    ]
    assert {one.id for one in left} < {one.id for one in whole}


def test_bare_stacks_are_left_for_those_that_are_compared_with_them() -> None:
    text = TEXT.replace('"openvpn"]', '"openvpn", "macvlan"]')
    for patterns, expected in (
        (["none", "macvlan"], {"none", "none:underlay=ethernet", "macvlan"}),
        (["none", "openvpn"], {"none", "openvpn"}),
        (["macvlan"], {"macvlan"}),
    ):
        left = expand(read(text, Path("any.toml"), {"stack": patterns}).plan)
        assert {one.stack.name for one in left} == expected


def test_several_patterns_are_one_or_the_other_and_repeats_are_those_that_were_said() -> None:
    overrides = {"stack": ["none", "openvpn"], "workload": ["ping*"], "repeats": 3}
    left = expand(read(TEXT, Path("any.toml"), overrides).plan)
    assert {one.stack.name for one in left} == {"none", "openvpn"}
    assert {name.name for one in left for name in one.workloads} == {"ping:count=5"}
    assert max(one.repeat for one in left) == 3


CASES = {
    "stack": ("run", "plan.toml", "--stack", "ipsec*"),
    "several": ("plan", "show", "plan.toml", "--stack", "none", "--workload", "http"),
    "profile-of-a-study": ("study", "show", "openwrt-2016", "--profile", "medium"),
    "nothing-together": ("plan", "check", "plan.toml", "--stack", "openvpn", "--profile", "medium"),
    "repeats": ("run", "plan.toml", "--repeats", "0"),
    "pattern-too-long": ("run", "plan.toml", "--stack", "a" * 201),
}


@pytest.mark.parametrize("case", CASES)
def test_message(case: str) -> None:
    done = invoke(*CASES[case])
    assert (done.exit_code, done.stdout) == (2, "")
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        (GOLDEN / f"{case}.txt").write_text(done.stderr)
    assert done.stderr == (GOLDEN / f"{case}.txt").read_text()
    assert not Path("runs").exists()


def test_plan_show_lists_what_is_left() -> None:
    printed = invoke("plan", "show", "plan.toml", "--stack", "openvpn", "--workload", "ping*", "--repeats", "1")
    assert "1 shard, 1 trial, about" in printed.stdout
    assert "1 shard, 1 trial" in invoke("plan", "check", "plan.toml", "--stack", "openvpn", "--workload", "ping*",
                                        "--repeats", "1").stdout  # fmt: skip


def test_a_run_tells_in_its_manifest_what_was_narrowed_and_goes_on_with_it() -> None:
    given = ("--stack", "none", "--stack", "wire*", "--workload", "ping*", "--profile", "baseline", "--repeats", "1")
    assert invoke("run", "plan.toml", "--out", "begun", *given).exit_code == 0
    found = record_of(Path("begun"))
    assert sorted({trial.cell["stack"] for trial in found.trials}) == ["none", "wireguard", "wireguard+vxlan"]
    assert found.manifest["plan"]["narrowed"] == {
        "stack": ["none", "wire*"],
        "workload": ["ping*"],
        "profile": ["baseline"],
    }
    assert (found.manifest["plan"]["repeats"], len(found.trials)) == (1, 6)
    assert Path("begun/plan.toml").read_text() == TEXT
    again = invoke("run", "--resume", "begun")
    assert (again.exit_code, len(record_of(Path("begun")).trials)) == (0, 6)


def test_a_run_that_was_not_narrowed_says_nothing_of_it() -> None:
    invoke("run", "plan.toml", "--out", "begun")
    assert "narrowed" not in record_of(Path("begun")).manifest["plan"]


def test_resume_takes_no_patterns() -> None:
    invoke("run", "plan.toml", "--out", "begun", "--stack", "none")
    assert invoke("run", "--resume", "begun", "--stack", "none").exit_code == 2


def test_a_narrowed_run_of_somebody_else_asks_for_its_own_shards(here: Path) -> None:
    order = read_order(TEXT, "any.toml", {"stack": ["wireguard*"], "repeats": 1})._replace(lab=ScriptedLab())
    with their_run.opened(whole_run(here / "theirs", order)) as their:
        finished = again.asked_shards(their, again.loaded_plan(their)).finished
    assert {one.stack.name for one in finished} == {"wireguard", "wireguard+vxlan"}
    assert len(finished) == 4


@pytest.mark.parametrize("stack", ['"none"', "[7]", "[[]]", '{"a": 1}'])
def test_patterns_of_somebody_else_are_a_list_of_texts(stack: str, here: Path) -> None:
    run = whole_run(here / "theirs", ordered(ScriptedLab()))
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    head = json.loads(lines[0])
    head["overrides"] = {"stack": json.loads(stack)}
    (run / "journal.jsonl").write_text("".join([json.dumps(head) + "\n", *lines[1:]]))
    done = invoke("verify", "theirs")
    assert done.exit_code == 2 and "damaged" in done.stderr


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, here: Path) -> Path:
    path = studies.written(here)
    monkeypatch.setattr(loading, "shipped_studies", lambda: {"tiny": path})
    return path


def test_a_study_says_which_claims_are_not_run_and_how_it_is_run(study: Path) -> None:
    printed = invoke("study", "show", "tiny", "--stack", "none", "--stack", "ipi?", "--profile", "baseline").stdout
    assert "ipip-before-gre  IPIP carries more than GRE. (Results, first table)\n    not run\n" in printed
    assert "not run: 2 of 2 comparisons" in printed
    assert "tunbench run tiny --scale quick --stack none --stack 'ipi?' --profile baseline --out runs/tiny" in printed
    assert "full: 12 shards" in printed and "quick: 6 shards" in printed
    assert "not run" not in invoke("study", "show", "tiny").stdout


def test_a_scale_of_which_nothing_is_left_is_not_offered_and_cannot_be_had(study: Path) -> None:
    found = read(study.read_text(), study, {"profile": ["medium"]})
    assert list(found.plans) == ["full"]
    with pytest.raises(PlanError, match='--profile: "medium" matches no profile of tiny; it has baseline'):
        read(study.read_text(), study, {"profile": ["medium"], "scale": "quick"})


def test_claims_that_were_left_out_are_not_run(study: Path) -> None:
    invoke("run", "tiny", "--out", "begun", "--stack", "ipip", "--stack", "gre", "--repeats", "3")
    told = json.loads(invoke("study", "agree", "begun", "--json").stdout)
    verdicts = {claim["name"]: claim["verdict"] for claim in told["claims"]}
    assert (verdicts["wireguard-like-none"], verdicts["slow-network"]) == ("not run", "not run")
    printed = invoke("study", "agree", "begun").stdout
    assert "2 not run" in printed and "slow-network" not in printed
    assert "slow-network" in invoke("study", "agree", "begun", "--all").stdout
