"""What decides the numbers of a run, compared with what this machine has of it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from tunbench.plain_text import line

DIGEST = re.compile("[0-9a-f]{64}")

MAX_PACKAGES = 3
"""Packages that are named of those which differ."""

NOTHING = "none"
"""What stands for a thing that one side does not have."""


class FactDifference(NamedTuple):
    """Something that decides the numbers and is another one here: its key in the manifest, its name, and both."""

    key: str
    name: str
    theirs: str
    here: str


def differences(theirs: Mapping[str, Any], here: Mapping[str, Any], names: Mapping[str, str]) -> list[FactDifference]:
    """What differs of two manifests in the facts that `names` lists by their keys.

    Of a table, what stands here is compared: it is what the shards need that are executed again.
    """
    return [FactDifference(key, *found) for key, name in names.items() for found in _of_fact(key, name, theirs, here)]


def _of_fact(key: str, name: str, theirs: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    a, b = theirs.get(key), here.get(key)
    if a == b:
        return
    if isinstance(b, dict) and "digest" not in b:
        table = a if isinstance(a, dict) else {}
        for one in b:
            if table.get(one) != b[one] and not _same_image(table.get(one), b[one]):
                yield f"{name}: {one}", *_texts(table.get(one), b[one])
    elif not _same_image(a, b):
        yield name, *_texts(a, b)


def _same_image(a: Any, b: Any) -> bool:
    """Whether two are the same by their digest: packages follow from that."""
    return isinstance(a, dict) and isinstance(b, dict) and a.get("digest") == b.get("digest") is not None


def _texts(a: Any, b: Any) -> tuple[str, str]:
    """Both in words; of two lists the words in which they differ, of two images the packages."""
    if isinstance(a, list) and isinstance(b, list):
        differing = [pair for pair in zip_longest(a, b, fillvalue="") if pair[0] != pair[1]]
        return _words(one for one, _ in differing), _words(other for _, other in differing)
    packages = _packages(a, b)
    return _text(a) + packages[0], _text(b) + packages[1]


def _words(words: Iterable[Any]) -> str:
    return line(" ".join(str(word) for word in words if word), 200) or NOTHING


def _packages(a: Any, b: Any) -> tuple[str, str]:
    tables = [table for one in (a, b) if isinstance(one, dict) and isinstance(table := one.get("packages"), dict)]
    if len(tables) < 2:
        return "", ""
    differing = [name for name in dict.fromkeys((*tables[0], *tables[1])) if tables[0].get(name) != tables[1].get(name)]
    more = f" and {len(differing) - MAX_PACKAGES} more" if len(differing) > MAX_PACKAGES else ""
    shown = [
        ", ".join(line(f"{name} {table.get(name) or NOTHING}", 100) for name in differing[:MAX_PACKAGES])
        for table in tables
    ]
    return (f" with {shown[0]}{more}", f" with {shown[1]}{more}") if differing else ("", "")


def _text(value: Any) -> str:
    if isinstance(value, dict) and isinstance(value.get("digest"), str):
        version = f"{value['version']} " if isinstance(value.get("version"), str) else ""
        return line(f"{version}{_text(value['digest'])}", 100)
    if value is None:
        return NOTHING
    text = str(value)
    return f"{text[:12]}…" if DIGEST.fullmatch(text) else line(text, 200)
