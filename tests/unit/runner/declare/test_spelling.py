import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.runner.declare import spelling
from tunbench.runner.declare.spelling import Part

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
VALUES = st.from_regex(r"[A-Za-z0-9.%-]{1,8}", fullmatch=True)
PARTS = st.builds(Part, NAMES, st.dictionaries(NAMES, VALUES, max_size=3))


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_what_is_joined_is_read_again(parts: list[Part]) -> None:
    assert spelling.stack(spelling.join(parts)) == parts


@given(st.text(alphabet="ab1:=,+ -", max_size=20))
def test_any_text_is_a_stack_whose_spelling_is_stable_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        parts = spelling.stack(text)
        assert spelling.stack(spelling.join(parts)) == parts


def test_spaces_are_not_part_of_it() -> None:
    parts = spelling.stack(" ipsec:mode = transport, cipher=aes + vxlan ")
    assert spelling.join(parts) == "ipsec:mode=transport,cipher=aes+vxlan"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty layer"),
        ("none+", "empty layer"),
        ("+none", "empty layer"),
        ("Wireguard", "does not begin with a name"),
        ("wireguard:", "ends in a colon"),
        ("wireguard:port", '"port" in "wireguard:port" is not an option'),
        ("wireguard:port=", "is not an option"),
        ("wireguard:port=1,", "is not an option"),
        ("wireguard:port=1,port=2", "gives the option port twice"),
    ],
)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spelling.stack(text)
