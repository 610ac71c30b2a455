"""What two runs do not have in common is listed once."""

from typing import Any

from tests.helpers.records import record
from tunbench.analysis.compare.manifests import differences


def differing(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, str, str]]:
    one, other = ({"lab": {"kind": "vm", "clock": "virtual"}, **manifest} for manifest in (a, b))
    return [
        (found.what, found.a, found.b) for found in differences(record([], manifest=one), record([], manifest=other))
    ]


def told(version: str, package: str, program: str, printed: str) -> dict[str, Any]:
    return {"image": {"digest": "0" * 64, "packages": {package: version}}, "programs": {program: printed}}


def test_a_program_is_not_listed_beside_its_package() -> None:
    for package, program in (("iputils-ping", "ping"), ("iperf3", "iperf3"), ("linux-image-amd64", "kernel")):
        a, b = told("1-1", package, program, "one"), told("1-2", package, program, "two")
        assert differing(a, b) == [(package, "1-1", "1-2")]


def test_a_program_whose_package_is_the_same_is_listed() -> None:
    a, b = told("1-1", "iputils-ping", "ping", "one"), told("1-1", "iputils-ping", "ping", "two")
    assert differing(a, b) == [("ping", "one", "two")]
