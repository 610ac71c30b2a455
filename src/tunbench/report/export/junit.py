"""What a gate found, as JUnit XML: a test case a cell, as continuous integration reads it."""

import re
from xml.etree import ElementTree

from tunbench.analysis.compare.gate import PASSED, GatedCell, GateResult, RunFinding
from tunbench.report import change_wording as wording

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What may not stand in XML, however it is written: XML 1.0, 5th edition, section 2.2. Logs have it, as colours."""


def xml(judged: GateResult) -> str:
    """The suite. What stops the run is a failure; what was not judged and does not stop it is skipped."""
    stops = {id(one) for one in judged.stopping}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {"name": "tunbench gate"})
    for finding in judged.of_runs:
        _of_run(suite, finding)
    for one in judged.cells:
        _case(suite, one, id(one) in stops)
    counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    suite.attrib.update({name: str(len(list(suite.iter(tag)))) for name, tag in counted.items()})
    ElementTree.indent(root)
    return HEAD + ElementTree.tostring(root, encoding="unicode") + "\n"


def _of_run(suite: ElementTree.Element, one: RunFinding) -> None:
    case = ElementTree.SubElement(suite, "testcase", {"classname": "the whole run", "name": one.name})
    if one.stops:
        ElementTree.SubElement(case, "failure", {"type": one.outcome, "message": one.why})
    else:
        ElementTree.SubElement(case, "skipped", {"message": f"{one.outcome}: {one.why}"})


def _case(suite: ElementTree.Element, one: GatedCell, stops: bool) -> None:
    row = one.row
    names = {"classname": f"{row.stack}, {row.condition}", "name": f"{row.workload}, {wording.metric_label(row)}"}
    case = ElementTree.SubElement(suite, "testcase", {name: _allowed(text) for name, text in names.items()})
    if stops:
        found = {"type": one.outcome, "message": _allowed(one.why or one.outcome)}
        ElementTree.SubElement(case, "failure", found).text = _allowed(_numbers(one))
    elif one.outcome != PASSED:
        ElementTree.SubElement(case, "skipped", {"message": _allowed(f"{one.outcome}: {one.why}")})
    else:
        ElementTree.SubElement(case, "system-out").text = _allowed(f"{one.why}\n{_numbers(one)}")


def _numbers(one: GatedCell) -> str:
    row = one.row
    return (
        f"base {wording.median(row, 'a')}, new {wording.median(row, 'b')}\n"
        f"change {wording.change(row)}, effect {wording.effect(row)}, corrected p {wording.p_value(row)}"
    )


def _allowed(text: str) -> str:
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
