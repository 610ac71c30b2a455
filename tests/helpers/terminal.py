"""The tables that a terminal shows, read again."""

import re
from collections.abc import Iterator

RULE = re.compile("^─+$")


def tables(printed: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Each table's headings and rows, where a row is a line: below a rule until a line without several fields."""
    lines = printed.splitlines()
    for number, line in enumerate(lines):
        if RULE.match(line):
            found = []
            for below in lines[number + 1 :]:
                if RULE.match(below):
                    continue
                cells = fields(below)
                if len(cells) < 2:
                    # What goes on of a field stands far to the right.
                    if below.startswith(" " * 6):
                        continue
                    break
                found.append(cells)
            if number and not RULE.match(lines[number - 1]) and len(fields(lines[number - 1])) > 1:
                yield fields(lines[number - 1]), found


def fields(line: str) -> list[str]:
    """What stands between gaps in a line."""
    return re.split(" {2,}", line.strip())
