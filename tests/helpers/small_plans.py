"""A plan of one stack and workload, with the keys that a test is about, and what goes without saying in it."""

from tunbench.plan.axes.reader import AxisValue, reader_of
from tunbench.plan.keys import read_plan
from tunbench.plan.model import Plan
from tunbench.runner.declare import axes


def small_plan(**keys: object) -> Plan:
    """The plan of one stack and workload; keys replace its own, or are added."""
    return read_plan({"name": "any", "stacks": ["none"], "workloads": ["ping"], **keys})


def usual_values() -> dict[str, AxisValue]:
    """What goes without saying, of each axis that has such a value."""
    return {axis.name: next(iter(reader_of(axis).read(axis.default, {}))) for axis in axes.AXES if axis.tacit}
