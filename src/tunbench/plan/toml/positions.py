"""Where things stand in a TOML text: a path such as `("stacks", 1)` is mapped to the line that a person looks at."""

import re
import tomllib
from collections.abc import Iterator

Path = tuple[str | int, ...]

END = ""
"""The token behind the last one."""

TOKEN = re.compile(
    r"""
    (?P<string> \"{3} (?: \\. | [^\\] )*? \"{3,5} | '{3} .*? '{3,5} | " (?: \\. | [^"\\\n] )* " | ' [^'\n]* ' )
    | (?P<comment> \# [^\n]* )
    | (?P<mark> [\[\]{}=,.\n] )
    | (?P<word> [^\s\[\]{}=,."'\#]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def written(path: Path) -> str:
    """The path as a person would write it: `profiles[1].reverse.delay`, counted from 0."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def line_of(path: Path, lines: dict[Path, int]) -> int | None:
    """The line of a path, or of the nearest thing around it; None where the text does not have it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def lines(text: str) -> dict[Path, int]:
    """The line of every key and list entry of a TOML text that a real parser has accepted already."""
    return Scanner(text).document()


class Scanner:
    """Walks over the tokens of a text and notes the line of each path."""

    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text), (text.count("\n") + 1, END)]
        self.next = 0
        self.found: dict[Path, int] = {}
        self.counted: dict[Path, int] = {}

    def document(self) -> dict[Path, int]:
        """Reads all tables of the document."""
        table: Path = ()
        while self.peek() != END:
            if self.peek() == "\n":
                self.take()
            elif self.peek() == "[":
                table = self.header()
            else:
                self.pair(table)
        return self.found

    def header(self) -> Path:
        """Reads `[table]` or `[[table]]`; the latter are counted, and a table inside belongs to the latest of them."""
        line = self.line()
        brackets = 0
        while self.peek() == "[":
            self.take()
            brackets += 1
        steps = self.steps()
        path: Path = ()
        for step in steps[:-1]:
            path = (*path, step)
            self.found.setdefault(path, line)
            path = self.latest(path)
        path = (*path, *steps[-1:])
        if brackets == 2:
            self.found.setdefault(path, line)
            self.counted[path] = self.counted.get(path, -1) + 1
            path = self.latest(path)
        while self.peek() == "]":
            self.take()
        self.found.setdefault(path, line)
        return path

    def latest(self, path: Path) -> Path:
        """The path, or its latest entry where it is a list of tables."""
        return (*path, self.counted[path]) if path in self.counted else path

    def pair(self, table: Path) -> None:
        """Reads `key = value`, and notes every step of the key."""
        line, path = self.line(), table
        for step in self.steps():
            path = (*path, step)
            self.found.setdefault(path, line)
        self.take()
        self.value(path)

    def steps(self) -> list[str]:
        """Reads a key, which may have dots."""
        steps = []
        while self.peek() not in ("=", "]", END):
            token = self.take()
            if token != ".":
                steps.append(_key(token))
        return steps

    def value(self, path: Path) -> None:
        """Reads a list, an inline table, or anything else up to what ends it."""
        if self.peek() == "[":
            self.entries(path)
        elif self.peek() == "{":
            self.inline(path)
        else:
            while self.peek() not in (",", "]", "}", "\n", END):
                self.take()

    def entries(self, path: Path) -> None:
        """Reads a list, and notes the line of each entry."""
        self.take()
        number = 0
        while self.peek() not in ("]", END):
            if self.peek() in ("\n", ","):
                self.take()
                continue
            self.found[*path, number] = self.line()
            self.value((*path, number))
            number += 1
        self.take()

    def inline(self, path: Path) -> None:
        """Reads an inline table."""
        self.take()
        while self.peek() not in ("}", END):
            if self.peek() in ("\n", ","):
                self.take()
            else:
                self.pair(path)
        self.take()

    def peek(self) -> str:
        """The next token."""
        return self.tokens[self.next][1]

    def line(self) -> int:
        """The line of the next token."""
        return self.tokens[self.next][0]

    def take(self) -> str:
        """The next token, and goes on behind it, but not behind the end."""
        token = self.peek()
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token


def _key(token: str) -> str:
    """The key that a token of an accepted text is: what a quoted one says, or the token itself."""
    return next(iter(tomllib.loads(f"{token} = 0"))) if token.startswith(('"', "'")) else token


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    line, counted = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if match.lastgroup != "comment":
            yield line, match[0]
