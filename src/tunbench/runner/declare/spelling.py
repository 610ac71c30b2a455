"""The one spelling of stacks and workloads: `name:option=value,option=value`, layers joined by `+`."""

import re
from typing import NamedTuple

NAME = re.compile(r"[a-z][a-z0-9-]*")


class Part(NamedTuple):
    """A name with the options given to it, as written."""

    name: str
    options: dict[str, str]

    def __str__(self) -> str:
        given = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}:{given}" if given else self.name


def part(text: str) -> Part:
    """Reads `name:option=value,…`. Raises ValueError."""
    name, colon, rest = text.strip().partition(":")
    if not NAME.fullmatch(name):
        raise ValueError(f'"{text}" does not begin with a name: write name:option=value,option=value')
    if colon and not rest:
        raise ValueError(f'"{text}" ends in a colon: name the options behind it, or take it away')
    options: dict[str, str] = {}
    for item in rest.split(",") if rest else []:
        option, equals, value = (piece.strip() for piece in item.partition("="))
        if not (option and equals and value):
            raise ValueError(f'"{item}" in "{text}" is not an option: write option=value')
        if option in options:
            raise ValueError(f'"{text}" gives the option {option} twice')
        options[option] = value
    return Part(name, options)


def stack(text: str) -> list[Part]:
    """Reads layers joined by `+`, from the underlay up. Raises ValueError."""
    pieces = text.split("+")
    if not all(piece.strip() for piece in pieces):
        raise ValueError(f'"{text}" has an empty layer: write one name on each side of every "+"')
    return [part(piece) for piece in pieces]


def join(parts: list[Part]) -> str:
    """The spelling of a stack."""
    return "+".join(str(one) for one in parts)
