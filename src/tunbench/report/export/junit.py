"""What a gate found, as JUnit XML: a test case a cell, as continuous integration reads it."""

import re
from xml.etree import ElementTree

from tunbench.analysis.compare.compared_cell import UNDECIDED
from tunbench.analysis.compare.gate import PASSED, GatedCell, GateResult
from tunbench.report import change_wording as wording

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What may not stand in XML, however it is written: XML 1.0, 5th edition, section 2.2. Logs have it, as colours."""


def xml(judged: GateResult) -> str:
    """The suite. A cell that stops the run is a failure, one that is undecided and does not stop it is skipped."""
    stops = {id(one) for one in judged.stopping}
    skipped = sum(one.outcome == UNDECIDED and id(one) not in stops for one in judged.cells)
    whole = int(judged.lacking > 0)
    numbers = {"tests": len(judged.cells) + whole, "failures": len(stops) + whole, "errors": 0, "skipped": skipped}
    root = ElementTree.Element("testsuites")
    attributes = {"name": "tunbench gate", **{name: str(number) for name, number in numbers.items()}}
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    if judged.lacking:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "the whole run", "name": "trials"})
        ElementTree.SubElement(case, "failure", {"type": "missing", "message": f"{judged.lacking} trials are missing"})
    for one in judged.cells:
        _case(suite, one, id(one) in stops)
    ElementTree.indent(root)
    return HEAD + ElementTree.tostring(root, encoding="unicode") + "\n"


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
