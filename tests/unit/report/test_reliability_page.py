import xml.etree.ElementTree as xml
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers import scripts


@pytest.fixture
def script() -> ModuleType:
    return scripts.script("reliability")


def case(name: str, figure: str, inside: str = "") -> xml.Element:
    properties = f'<properties><property name="reliability" value="{figure}"/></properties>' if figure else ""
    text = f'<testcase classname="tests.native.test_kills" name="{name}" time="61.4">{properties}{inside}</testcase>'
    return xml.fromstring(text)


def test_a_test_is_a_line(script: ModuleType) -> None:
    test, line = script.row(case("test_nothing_is_left_by[a-b]", "5 kills | nothing left"))
    assert test == "[nothing is left by (a-b)](../tests/native/test_kills.py)"
    assert line.startswith(f"| {test} | 5 kills \\| nothing left | 61 | native | 20")


def test_a_test_that_failed_says_so(script: ModuleType) -> None:
    failed = case("test_it", "", "<failure/>")
    assert script.broken(failed)
    assert "| **the test failed**  | 61 |" in script.row(failed)[1]
    assert not script.broken(case("test_it", "one"))


def test_lines_of_tests_that_were_not_run_stay(script: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"prose\n\n{script.MARK}\n")
    script.write(page, dict([script.row(case("test_b", "first")), script.row(case("test_a", "only"))]))
    script.write(page, dict([script.row(case("test_b", "second"))]))
    text = page.read_text()
    assert text.startswith(f"prose\n\n{script.MARK}\n\n{script.HEAD}| [a](")
    assert [line.split(" | ")[1] for line in text.splitlines()[-2:]] == ["only", "second"]
    assert script.MARK in script.PAGE.read_text()
