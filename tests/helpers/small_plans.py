"""A plan of one stack and workload, with the keys that a test is about."""

from tunbench.plan.keys import read_plan
from tunbench.plan.model import Plan


def small_plan(**keys: object) -> Plan:
    """The plan of one stack and workload; keys replace its own, or are added."""
    return read_plan({"name": "any", "stacks": ["none"], "workloads": ["ping"], **keys})
