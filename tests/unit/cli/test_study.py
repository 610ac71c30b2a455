"""`tunbench study` and what a run of a study prints: `tests/golden/study/CASE.txt`.

After a change that is meant: TUNBENCH_UPDATE_GOLDEN=1 pytest tests/unit/cli/test_study.py && git diff tests/golden
"""

import csv
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from tests.helpers import studies
from tests.helpers.documentation import json_keys
from tests.helpers.records import record
from tests.helpers.runs import invoke, runs_here
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.study.assessment import Assessment
from tunbench.plan import load as loading
from tunbench.plan.load import Loaded
from tunbench.report.charts.study import rank_slopes
from tunbench.report.export import files, study
from tunbench.report.export.json_text import json_text
from tunbench.report.page.figures import drawn
from tunbench.report.page.filters import SectionFrame
from tunbench.report.page.study import rendered
from tunbench.report.reported_run import ReportedRun
from tunbench.report.terminal import study_tables
from tunbench.report.view import side_by_side

GOLDEN = Path(__file__).parents[2] / "golden" / "study"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the tiny study, which is shipped under its name, and a scripted lab."""
    runs_here(monkeypatch, tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    path = studies.written(tmp_path)
    monkeypatch.setattr(loading, "shipped_studies", lambda: {"tiny": path})
    for module in ("tunbench.report.export.publications", "tunbench.plan.extent"):
        monkeypatch.setattr(f"{module}.estimate", lambda shards, *_: 60.0 * len(shards))
    monkeypatch.setattr("tunbench.cli.study.shipped_studies", lambda: {"tiny": path})
    return tmp_path


def compare(case: str, text: str) -> None:
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        (GOLDEN / f"{case}.txt").write_text(text)
    assert text == (GOLDEN / f"{case}.txt").read_text()


def of(folder: Path, scale: str) -> Assessment:
    repeats, profiles = (6, ("baseline", "medium")) if scale == "full" else (3, ("baseline",))
    return studies.assessed(analyse(record(studies.trials(repeats, profiles))), studies.loaded(folder, scale))


def printed(assessment: Assessment, long: bool) -> str:
    console = Console(file=io.StringIO(), width=110)
    console.print(study_tables.rendered(assessment, long))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def test_list() -> None:
    compare("list", invoke("study", "list").output)


def test_list_as_json() -> None:
    (row,) = json.loads(invoke("study", "list", "--json").output)["rows"]
    assert (row["published"], row["illegible"], row["claims"]) == (11, 1, 4)
    assert [one["shards"] for one in row["scales"].values()] == [48, 12]
    assert [one["seconds"] for one in row["scales"].values()] == [2880, 720]


def test_show() -> None:
    compare("show", invoke("study", "show", "tiny").output)


def test_show_of_a_plan_that_is_no_study() -> None:
    done = invoke("study", "show", "plan.toml")
    assert done.exit_code == 2 and "this is no study: it has no table [study]" in done.output


@pytest.mark.parametrize("scale", ["full", "quick"])
def test_agreement(scale: str, here: Path) -> None:
    compare(f"agree-{scale}", printed(of(here, scale), long=True))


def test_what_stands_below_the_table_of_a_run(here: Path) -> None:
    compare("after-a-run", printed(of(here, "full"), long=False))


def test_agreement_as_json(here: Path) -> None:
    told = json.loads(json_text(study.as_json(of(here, "quick"), 3)))
    assert set(told) == json_keys("study agree")[0]
    assert [claim["verdict"] for claim in told["claims"]][2] == "not run"
    assert told["tables"][0]["agreement"]["n"] == 4 and told["scale"] == "quick"
    lan, wan = told["clusters"]
    assert (lan["name"], lan["n"], lan["why"]) == ("on the LAN", 4, None) and lan["rand"] == pytest.approx(1)
    assert list(lan["published"]) == ["in the kernel", "encrypted"] and len(lan["measured"]) == 2
    assert (wan["name"], wan["measured"], wan["rand"]) == ("on the WAN", [], None) and wan["why"]


def test_a_run_of_a_study_ends_with_its_verdicts(here: Path) -> None:
    done = invoke("run", "tiny", "--scale", "quick", "--out", "out")
    assert "A Comparison of Tunnels (2016), scale quick" in done.output
    assert "4 claims: " in done.output
    again = invoke("study", "agree", "out")
    assert again.exit_code == 0 and "A Comparison of Tunnels (2016), scale quick" in again.output
    assert json.loads(invoke("study", "agree", "out", "--json").output)["scale"] == "quick"


def test_a_study_is_exported_with_its_report(here: Path) -> None:
    analysis, assessment = studies.found(), of(here, "full")
    written = {
        one.file: one.shows
        for one in files.write(side_by_side([ReportedRun(analysis, assessment=assessment)]), here / "files")
    }
    assert {"table-study-0.csv", "table-study-agreement.tex", "table-study-claims.csv"} <= set(written)
    ranks = [name for name in written if name.startswith("study-") and name.endswith(".svg")]
    assert ranks and all((here / "files" / name.replace(".svg", ".pdf")).read_bytes()[:5] == b"%PDF-" for name in ranks)
    head, *rows = csv.reader((here / "files" / "table-study-claims.csv").read_text().splitlines())
    at = head.index("verdict")
    assert {row[head.index("claim")]: row[at] for row in rows} == {
        one.claim.name: one.verdict for one in assessment.claims
    }


def test_a_run_of_no_study_agrees_with_nothing() -> None:
    assert invoke("run", "plan.toml", "--out", "out").exit_code == 0
    done = invoke("study", "agree", "out")
    assert done.exit_code == 2 and "this is no study" in done.output


def test_what_is_no_run_agrees_with_nothing() -> None:
    assert invoke("study", "agree", "nowhere").exit_code == 2


def test_plan_show_tells_the_time_of_both_scales() -> None:
    shown = invoke("plan", "show", "tiny").output
    assert "at the scale full: 48 shards, 96 trials, about " in shown
    assert "at the scale quick: 12 shards, 24 trials, about " in shown
    told = json.loads(invoke("plan", "show", "tiny", "--scale", "quick", "--json").output)
    assert told["scale"] == "quick" and told["scales"]["quick"] == told["seconds"]


def test_plan_check_reads_the_published_numbers(here: Path) -> None:
    assert invoke("plan", "check", "tiny").exit_code == 0
    (here / "tiny.csv").write_text(studies.REFERENCE.replace("Mbit/s", "mbps"))
    done = invoke("plan", "check", "tiny")
    assert done.exit_code == 2 and 'tiny.csv:2: unknown unit "mbps"' in done.output
    assert invoke("run", "tiny", "--out", "out").exit_code == 2
    assert not Path("out").exists()


def section_of(loaded: Loaded) -> str:
    """The section of a report about a run of the tiny study."""
    assessment = studies.assessed(studies.found(), loaded)
    figures = [drawn(one) for one in rank_slopes.least_agreeing_of(assessment.tables, "study")]
    return rendered(assessment, SectionFrame("study"), figures)


def test_the_section_of_the_report(here: Path) -> None:
    page = section_of(studies.loaded(here))
    assert page.count("<svg") == 2, "one condition of each table has two systems on both sides"
    for text in (
        "A Comparison of Tunnels",
        "Not reproduced",
        "the model machine has one core",
        "illegible",
        "τ 0.71 (p = 0.50; 3 pairs tie: τ ≤ 0.71)",
    ):
        assert text in page
    assert "published 92.9\N{NO-BREAK SPACE}Mbit/s, rank 2" in page
    assert page.count("<section") == page.count("</section>") == 1


def test_the_section_has_a_heading_for_each_clustering(here: Path) -> None:
    page = section_of(studies.loaded(here))
    assert page.count("<h3>Clusters</h3>") == 1
    assert "<h4>on the LAN: adjusted Rand index 1.00, n = 4; 2 measured clusters, mean silhouette 0.73</h4>" in page
    heading = "<h4>on the WAN: adjusted Rand index 0.00, n = 4; 2 measured clusters, mean silhouette 0.73</h4>"
    wan = page[page.index(heading) :]
    for text in (
        "<dt>published: slow</dt><dd>GRE, WireGuard</dd>",
        "<dt>measured: 1</dt><dd>GRE, IPIP, No VPN: ",
        "<dt>measured: 2</dt><dd>WireGuard: 679\N{NO-BREAK SPACE}µs ± ",
    ):
        assert text in wan
    text = studies.PLAN + studies.STUDY.split("[[study.clustering]]")[0]
    assert "<h3>Clusters</h3>" not in section_of(studies.loaded(here, text=text))


def test_texts_of_a_study_cannot_break_the_page(here: Path) -> None:
    text = (studies.PLAN + studies.STUDY + studies.CLAIMS).replace(
        "A Comparison of Tunnels", "<script>alert(1)</script>"
    )
    text = text.replace('"IPIP" = "ipip"', '"<b>IPIP" = "ipip"').replace('"No VPN", "IPIP"', '"No VPN"')
    text = text.replace('"on the LAN"', '"<b>LAN"').replace('"encrypted"', '"<b>encrypted"')
    reference = studies.REFERENCE.replace(",IPIP,", ",<b>IPIP,")
    page = section_of(studies.loaded(here, text=text, reference=reference))
    assert "<script" not in page and "<b>" not in page
