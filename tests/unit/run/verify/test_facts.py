"""What decides the numbers, as the terminal says that it is another one here."""

from typing import Any

import pytest

from tunbench.labs.vm.lab import DECIDING_FACTS
from tunbench.run.verify.facts import differences

SAME: dict[str, Any] = {
    "image": {"digest": "a" * 64, "packages": {"openssl": "3.0.16"}},
    "addons": {"libreswan": "b" * 64},
    "tools": {"headscale": {"version": "0.25", "digest": "c" * 64}},
    "brought": {},
    "qemu": "QEMU emulator version 7.2.17",
    "command": {"full": ["qemu", "-m", "1G"]},
}


def told(theirs: dict[str, Any], here: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [one[1:] for one in differences({**SAME, **theirs}, {**SAME, **here}, DECIDING_FACTS)]


def test_what_is_the_same_is_not_told() -> None:
    assert told({}, {}) == []


def test_what_has_the_same_digest_is_the_same_whatever_else_is_told_of_it() -> None:
    tool = {"version": "0.25", "digest": "c" * 64, "built": {"go": "1.26.1"}}
    assert told({"tools": {"headscale": tool}}, {}) == []
    assert len(told({"tools": {"headscale": tool | {"digest": "d" * 64}}}, {})) == 1


@pytest.mark.parametrize(
    ("theirs", "here", "expected"),
    [
        ({"qemu": "QEMU 10"}, {"qemu": "QEMU 11"}, ("version of QEMU", "QEMU 10", "QEMU 11")),
        (
            {"image": {"digest": "1" * 64, "packages": {"a": "1", "b": "2"}}},
            {"image": {"digest": "2" * 64, "packages": {"a": "1", "c": "3"}}},
            ("image", "111111111111… with b 2, c none", "222222222222… with b none, c 3"),
        ),
        (
            {"image": {"digest": "1" * 64, "packages": {str(n): "1" for n in range(9)}}},
            {"image": {"digest": "2" * 64, "packages": {str(n): "2" for n in range(9)}}},
            (
                "image",
                "111111111111… with 0 1, 1 1, 2 1 and 6 more",
                "222222222222… with 0 2, 1 2, 2 2 and 6 more",
            ),
        ),
        (
            {"addons": {"libreswan": "1" * 64}},
            {},
            ("set of add-on images: libreswan", "111111111111…", "bbbbbbbbbbbb…"),
        ),
        ({"tools": {}}, {}, ("set of tools: headscale", "none", "0.25 cccccccccccc…")),
        (
            {"command": {"full": ["qemu", "-m", "2G", "-x"]}},
            {},
            ("command line of QEMU: full", "2G -x", "1G"),
        ),
        ({"qemu": "a\x1b[2J\nb"}, {}, ("version of QEMU", "a�[2J\\nb", "QEMU emulator version 7.2.17")),
        ({"image": "none of ours"}, {}, ("image", "none of ours", "aaaaaaaaaaaa…")),
    ],
)
def test_what_is_another_one_is_told_with_both(
    theirs: dict[str, Any], here: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    assert told(theirs, here) == [expected]


def test_packages_that_an_image_of_the_same_digest_tells_otherwise_decide_nothing() -> None:
    assert told({"image": {"digest": "a" * 64, "packages": {}}}, {}) == []


def test_what_only_shards_need_that_are_not_executed_is_not_compared() -> None:
    assert told({"addons": {**SAME["addons"], "mosquitto": "d" * 64}}, {}) == []
