"""What a run predicts after a calibration: on the terminal, as JSON, as files, in the page; and what is refused.

After a change that is meant: TUNBENCH_UPDATE_GOLDEN=1 pytest tests/unit/cli/test_study_prediction.py
"""

import csv
import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from tests.helpers import calibrated, studies
from tests.helpers.runs import invoke, runs_here
from tunbench.plan import load as loading
from tunbench.report.export import files, study
from tunbench.report.export.json_text import json_text
from tunbench.report.page import html
from tunbench.report.reported_run import ReportedRun
from tunbench.report.terminal import study_tables
from tunbench.report.view import View, side_by_side

GOLDEN = Path(__file__).parents[2] / "golden" / "study"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the tiny study, which is shipped under its name, and a scripted lab."""
    runs_here(monkeypatch, tmp_path)
    path = studies.written(tmp_path, calibrated.TEXT)
    monkeypatch.setattr(loading, "shipped_studies", lambda: {"tiny": path})
    return tmp_path


def view(folder: Path, text: str = calibrated.TEXT) -> View:
    run = ReportedRun(studies.found(), assessment=calibrated.assessed(folder, text=text))
    return side_by_side([run])


@pytest.mark.parametrize("scale", ["full", "quick"])
def test_a_terminal_of_80_columns_shows_it(scale: str, here: Path) -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(study_tables.rendered(calibrated.assessed(here, scale), long=True))
    assert isinstance(console.file, io.StringIO)
    text = "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())
    assert max(map(len, text.splitlines())) <= 80
    golden = GOLDEN / f"predict-{scale}.txt"
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_study_show_tells_what_calibrates() -> None:
    shown = invoke("study", "show", "tiny").output
    assert "calibrates full: WireGuard, LAN of the table throughput: the processor alone is the limit" in shown


def test_json_has_every_error(here: Path) -> None:
    told = json.loads(json_text(study.as_json(calibrated.assessed(here), 0)))
    found = told["prediction"]
    assert (found["calibration"]["system"], found["calibrated"], found["machine"]["speed"]) == (
        "WireGuard",
        False,
        1000,
    )
    assert found["cell"]["error"] == pytest.approx(32.1 / 40.5 - 1)
    throughput, delay = told["tables"]
    errors = throughput["prediction"]["errors"]
    assert (errors["n"], errors["illegible"], errors["zeros"]) == (4, 1, 0)
    assert errors["worst"] == {"system": "No VPN", "condition": "WAN", "error": pytest.approx(9.63 / 12.1 - 1)}
    assert throughput["prediction"]["calibrating_number"] == 40.5e6
    assert list(throughput["prediction"]["conditions"]) == ["LAN", "WAN"]
    assert (delay["prediction"]["errors"]["at_number"], delay["prediction"]["why"]) == (None, None)
    by_system = {row["system"]: row["error"] for row in throughput["rows"] if row["condition"] == "LAN"}
    assert by_system["GRE"] == pytest.approx(74.9 / 91.2 - 1) and by_system["PPTP"] is None


def test_without_a_calibration_json_says_nothing_of_one(here: Path) -> None:
    told = study.as_json(studies.assessed(studies.found(), studies.loaded(here)), 0)
    assert (told["prediction"], told["tables"][0]["prediction"]) == (None, None)


def test_files_have_the_errors_and_the_charts(here: Path) -> None:
    written = {one.file for one in files.write(view(here), here / "files")}
    assert {"table-study-prediction.csv", "table-study-prediction.tex"} <= written
    charts = sorted(name for name in written if "predicted" in name and name.endswith(".svg"))
    assert charts == [
        "study-predicted-and-published-delay-rtt-mean.svg",
        "study-predicted-and-published-throughput.svg",
    ]
    head, *rows = csv.reader((here / "files" / "table-study-prediction.csv").read_text().splitlines())
    at = {name: place for place, name in enumerate(head)}
    lan = next(row for row in rows if row[:2] == ["throughput", "LAN"])
    assert float(lan[at["median error"]]) == pytest.approx(1 - 85.6 / 91.7)
    assert lan[at["worst"]] == "GRE, LAN"
    assert float(lan[at["all at the link’s rate"]]) == pytest.approx(94.1 / 91.7 - 1)


def test_the_page_says_it_above_each_table(here: Path) -> None:
    page = html.page(view(here)).replace("\N{NO-BREAK SPACE}", " ")
    for text in (
        "WireGuard, LAN: 40.5 Mbit/s published, 32.1 Mbit/s here (−21 %)",
        "full of 1,000 million instructions a second, is −21 % off the number that should calibrate it",
        "The processor alone is the limit.",
        "Median error 12 %, worst −20 % (No VPN, WAN), n = 4; every system at the link&#39;s rate 2.9 %, at the "
        "calibrating number 56 %; left out: 1 illegible.",
        "Median error 97 %, worst −97 % (IPIP, LAN), n = 3.",
        "it calibrates the machine",
    ):
        assert text in page, text
    assert page.count("Measured here over published") == 2
    assert page.count('aria-labelledby="study-prediction-0-0"') == 1


def test_claims_of_which_a_run_says_nothing_are_folded_behind_the_others(here: Path) -> None:
    page = html.page(view(here))
    told, _, folded = page.partition("What is not tested here: 1 not testable here</summary>")
    assert "A second core helps nobody." in folded and "A second core helps nobody." not in told
    assert "IPIP carries more than GRE." in told and "IPIP carries more than GRE." not in folded


def test_a_table_that_has_an_order_alone_says_why(here: Path) -> None:
    text = calibrated.TEXT.replace('metric = "rtt"\nstat', 'metric = "rtt"\norder_only = "<b>another router"\nstat')
    page = html.page(view(here, text))
    assert "Not predicted: &lt;b&gt;another router." in page
    assert page.count("Measured here over published") == 1


def test_texts_of_a_calibration_cannot_break_the_page(here: Path) -> None:
    text = calibrated.TEXT.replace("the processor alone", "<script>alert(1)</script>")
    text = text.replace('"No VPN"', '"<b>No VPN"')
    reference = studies.REFERENCE.replace(",No VPN,", ",<b>No VPN,")
    run = ReportedRun(studies.found(), assessment=calibrated.assessed(here, text=text, reference=reference))
    page = html.page(side_by_side([run]))
    assert "<b>" not in page and "<script>alert" not in page and "&lt;b&gt;No VPN" in page


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            'condition = "LAN"\nmachine',
            'condition = "LAM"\nmachine',
            'study.calibration.condition: the table "throughput" has no condition "LAM"; did you mean "LAN"?',
        ),
        (
            'system = "WireGuard"\ncondition = "LAN"',
            'system = "IPIP"\ncondition = "WAN"',
            'tiny.toml:54: study.calibration: the reference has no number of "IPIP" under "WAN" above 0: calibrate by '
            "another one",
        ),
        (
            'metric = "rtt"\nstatistic = "mean"\ncell',
            'metric = "rtt"\nstatistic = "mean"\nlink_rate = "1G"\ncell',
            "study.table[1].link_rate: it is published in s, and no link has a rate in it: take it away",
        ),
    ],
)
def test_a_calibration_from_a_cell_that_the_study_lacks_is_told_before_anything_starts(
    before: str, after: str, message: str, here: Path
) -> None:
    assert before in calibrated.TEXT
    studies.written(here, calibrated.TEXT.replace(before, after))
    for command in (("plan", "check", "tiny"), ("run", "tiny", "--out", "out")):
        done = invoke(*command)
        assert done.exit_code == 2 and message in done.output.replace("\n", ""), done.output
    assert not Path("out").exists()
