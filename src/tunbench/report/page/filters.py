"""How the filters of a page find what an element is about: by the numbers in its attributes."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from tunbench.analysis.order import condition_of
from tunbench.analysis.verdicts import FailureGroup
from tunbench.report.view import View
from tunbench.runner.declare import axes
from tunbench.runner.declare.metrics import BRING_UP

NONE = "-1"
"""Stands for what is in no filter, such as a stack that was not run: any choice hides it."""

LETTERS = ("s", "c", "w", "r")
"""Stack, condition, workload and run: what follows `data-` in the attributes of an element."""


def choices(view: View) -> list[tuple[str, str, list[str]]]:
    """What rows and charts can be chosen by: a letter, a name and its values; what has no choice is left out."""
    values = (view.stacks, view.conditions, view.workloads, list(view.labels))
    found = zip(LETTERS, ("stack", "profile", "workload", "run"), values, strict=True)
    return [one for one in found if len(one[2]) > 1]


class FilterMarks(NamedTuple):
    """What marks an element for the filters of a page; `runs` are those that its section is about, by their numbers."""

    view: View
    runs: tuple[int, ...]

    def of_cells(self, cells: Iterable[Mapping[str, Any]]) -> Markup:
        """The attributes of an element that is about these cells; it is hidden where a filter leaves none of them."""
        listed = list(cells)
        conditions = [name for cell in listed for name in self._conditions(cell)]
        return self.attributes(
            _numbers([cell.get("stack") for cell in listed], self.view.places.stacks),
            _numbers(conditions, self.view.places.conditions),
            _numbers([cell.get("workload") for cell in listed], self.view.places.workloads),
        )

    def of_failing(self, one: FailureGroup) -> Markup:
        """The attributes of trials that failed. Where it was the bring-up, that is about every workload."""
        workloads = {trial.cell["workload"] for trial in one.trials}
        of_workloads = "" if BRING_UP in workloads else _numbers(workloads, self.view.places.workloads)
        stack, condition = self.view.places.stacks[one.stack], self.view.places.conditions[one.condition]
        return self.attributes(str(stack), str(condition), of_workloads)

    def of_workload(self, name: str) -> Markup:
        """The attribute of what is about a workload alone."""
        return self.attributes("", "", "" if name == BRING_UP else _numbers([name], self.view.places.workloads))

    def of_profile(self, name: str) -> Markup:
        """The attributes of what is about a profile, whatever else there is to its conditions."""
        of_profile = [
            condition for run in self.runs for condition in self.view.runs[run].conditions_of_profile.get(name, [])
        ]
        return self.attributes("", _numbers(of_profile, self.view.places.conditions), "")

    def attributes(self, stacks: str, conditions: str, workloads: str) -> Markup:
        """The attributes of an element that has these numbers; of what has none, the filters take no notice."""
        values = zip(LETTERS, (stacks, conditions, workloads, " ".join(map(str, self.runs))), strict=True)
        named = [Markup(' data-{}="{}"').format(letter, value) for letter, value in values if value]
        return Markup("").join(named)

    def _conditions(self, cell: Mapping[str, Any]) -> list[str | None]:
        """What the runs call the condition of a cell."""
        if any(name not in cell for name in axes.CONDITION):
            return [None]
        return [self.view.runs[run].conditions.get(condition_of(cell)) for run in self.runs]


class SectionFrame(NamedTuple):
    """Where a section stands: its id, the label of its run among several, and the filters of its page, if any."""

    id: str
    label: str = ""
    filters: FilterMarks | None = None

    def marks(self, cells: Iterable[Mapping[str, Any]]) -> Markup:
        """The attributes by which the filters choose what is about these cells."""
        return self.filters.of_cells(cells) if self.filters else Markup("")


def _numbers(values: Iterable[str | None], of: Mapping[str, int]) -> str:
    known = sorted({of[value] for value in values if value is not None and value in of})
    return " ".join(map(str, known)) or NONE
