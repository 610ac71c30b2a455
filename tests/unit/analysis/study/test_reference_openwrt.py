"""The published numbers of the study openwrt-2016, and its file: what a slip of transcription would break."""

import operator
import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.helpers.study_files import Row, plan, published, study

NAME = "openwrt-2016"
SYSTEMS = ["No VPN", "IPIP", "GRE", "PPTP", "OpenVPN", "L2TP_eth + UDP", "IPIP+FoU"]
CONDITIONS = ["max / auto", *(f"{size} bytes" for size in (1288, 1088, 888, 688, 488, 288, 88))]
TIMESTAMPS = 12
FRAME = 20 + 20 + TIMESTAMPS + 14 + 4 + 8 + 12
"""Bytes of IPv4, TCP with timestamps, Ethernet, check sequence, preamble and gap around a segment."""

SUMS = {
    "No VPN": 530.5,
    "IPIP": 608.6,
    "GRE": 601.2,
    "PPTP": 256.6,
    "OpenVPN": 127.7,
    "L2TP_eth + UDP": 385.0,
    "IPIP+FoU": 587.2,
}
"""Sums of the article's columns in Mbit/s, added up from the article."""


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return published(NAME)


def values(rows: list[Row], table: str, system: str) -> list[float]:
    return [float(row.value) for row in rows if (row.table, row.system) == (table, system)]


def test_both_tables_are_whole(rows: list[Row]) -> None:
    first = [(row.system, row.condition) for row in rows if row.table == "throughput"]
    assert first == [(system, condition) for condition in CONDITIONS for system in SYSTEMS]
    second = [(row.system, row.condition) for row in rows if row.table == "comments"]
    assert second == [("IPSec (ESP NULL, SHA1)", condition) for condition in CONDITIONS[1:]]
    assert len(rows) == 63


def test_all_are_single_throughputs_in_mbit(rows: list[Row]) -> None:
    assert {(row.metric, row.statistic, row.unit) for row in rows} == {("throughput", "value", "Mbit/s")}
    assert all(re.fullmatch(r"\d{1,2}(\.\d{1,2})?", row.value) for row in rows)
    assert all(row.source for row in rows)


@pytest.mark.parametrize("system", SYSTEMS)
def test_columns_add_up(rows: list[Row], system: str) -> None:
    assert sum(values(rows, "throughput", system)) == pytest.approx(SUMS[system])


def test_the_comments_add_up(rows: list[Row]) -> None:
    assert sum(values(rows, "comments", "IPSec (ESP NULL, SHA1)")) == pytest.approx(245.35)


@pytest.mark.parametrize("system", SYSTEMS)
def test_smaller_segments_carry_less(rows: list[Row], system: str) -> None:
    assert all(larger > smaller for larger, smaller in pairwise(values(rows, "throughput", system)))


def test_smaller_segments_carry_less_in_the_comments_too(rows: list[Row]) -> None:
    found = values(rows, "comments", "IPSec (ESP NULL, SHA1)")
    assert all(larger > smaller for larger, smaller in pairwise(found))


def test_nothing_is_faster_than_the_link(rows: list[Row]) -> None:
    for row in rows:
        segment = 1448 if row.condition == "max / auto" else int(row.condition.removesuffix(" bytes"))
        assert float(row.value) < 100 * segment / (segment + FRAME)


def test_the_order_of_the_tunnels_is_the_same_in_every_row(rows: list[Row]) -> None:
    order = ["IPIP", "GRE", "IPIP+FoU", "L2TP_eth + UDP", "PPTP", "OpenVPN"]
    for condition in CONDITIONS:
        row = {one.system: float(one.value) for one in rows if (one.table, one.condition) == ("throughput", condition)}
        assert sorted(order, key=row.__getitem__, reverse=True) == order


def test_each_condition_is_a_segment_and_its_timestamps() -> None:
    for table in study(NAME)["study"]["table"]:
        for condition, cell in table["conditions"].items():
            asked = re.search(r"mss=(\d+)", cell["workload"])
            if asked is None:
                assert condition == "max / auto"
            else:
                assert condition == f"{int(asked[1]) - TIMESTAMPS} bytes"
            assert cell["workload"] in plan(NAME).axes["workload"]


@pytest.mark.parametrize("scale", ["", "quick"])
def test_every_published_system_has_a_stack_of_the_plan(rows: list[Row], scale: str) -> None:
    systems = study(NAME)["study"]["systems"]
    assert set(systems) == {row.system for row in rows}
    assert set(systems.values()) <= set(plan(NAME, scale).axes["stack"])


def test_claims_name_stacks_and_workloads_of_the_plan() -> None:
    whole = plan(NAME)
    claims = study(NAME)["claim"]
    assert len({claim["name"] for claim in claims}) == len(claims)
    for claim in claims:
        assert ("compare" in claim) != ("not_testable" in claim)
        for cell in (one[side] for one in claim.get("compare", []) for side in ("left", "right") if side in one):
            assert cell.get("stack", "none") in whole.axes["stack"]
            assert cell.get("workload", "overhead") in whole.axes["workload"]


SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(value: float, expect: str) -> bool:
    if ".." in expect:
        low, high = map(float, expect.split(".."))
        return low <= value <= high
    sign, bound = expect.split()
    return SIGNS[sign](value, float(bound))


def test_the_published_numbers_themselves_are_what_the_claims_say(rows: list[Row]) -> None:
    beside = study(NAME)["study"]
    system_of = {stack: system for system, stack in beside["systems"].items()}
    condition_of = {cell["workload"]: name for table in beside["table"] for name, cell in table["conditions"].items()}
    numbers = {(row.system, row.condition): float(row.value) for row in rows}
    tried = 0
    for claim in study(NAME)["claim"]:
        for comparison in claim.get("compare", []):
            left = comparison["left"]
            sides = (left, {**left, **comparison.get("right", {})})
            keys = [(system_of.get(one["stack"]), condition_of.get(one["workload"])) for one in sides]
            if all(key in numbers for key in keys):
                published_ratio = numbers[keys[0]] / numbers[keys[1]]  # type: ignore[index]
                assert holds(published_ratio, comparison["expect"]), (claim["name"], keys)
                tried += 1
    assert tried == 163
