"""The colours of a report, each for light and for dark, and how those of an exported chart become light."""

import re
from typing import NamedTuple


class Ink(NamedTuple):
    """A colour on a light and on a dark ground."""

    light: str
    dark: str


INKS = {
    "paper": Ink("#fdfdfc", "#15181b"),
    "raised": Ink("#f4f4f1", "#1d2125"),
    "ink": Ink("#1b1f23", "#e4e6e8"),
    "soft": Ink("#575d63", "#a2a9b0"),
    "line": Ink("#dcdcd7", "#343a40"),
    # A ground on which ink is still readable.
    "heat": Ink("#6fb4dd", "#1f669a"),
    # Okabe and Ito's palette, which the colour-blind can tell apart: blue, vermilion, bluish green.
    "accent": Ink("#0072b2", "#56b4e9"),
    "bad": Ink("#b34700", "#f0883e"),
    "good": Ink("#00735a", "#2fbf97"),
}
"""The colours by name. Texts in ink, soft, accent, bad and good have a contrast of at least 4.5 : 1 on paper."""


SERIES = (
    Ink("#0072b2", "#56b4e9"),
    Ink("#c4520a", "#f0883e"),
    Ink("#007a5e", "#2fbf97"),
    Ink("#a3508a", "#d88bc0"),
    Ink("#8a6d00", "#d9b72b"),
    Ink("#4b4fc4", "#9a9df5"),
    Ink("#b3261e", "#f2857d"),
    Ink("#2b7a8c", "#6cc5d6"),
)
"""The colours of stacks, after Okabe and Ito: each has a contrast of at least 3 : 1 on paper, and a shape besides."""

BARE = "var(--soft)"
"""The colour of stacks that are no tunnel."""

WHITE = "#ffffff"

STYLES = {"ok": "green", "unsupported": "dim", "not run": "dim"}


def style_of(verdict: str) -> str:
    """How the terminal shows a verdict; what is none of the usual ones is bad news, but for what is only noisy."""
    return STYLES.get(verdict, "yellow" if verdict.startswith("ok, ") else "bold red")


def series(index: int) -> str:
    """The colour of a stack by its number among the tunnels, as a variable of the page."""
    return f"var(--s{index % len(SERIES)})"


def css() -> str:
    """The colours as CSS variables: light, dark where the reader prefers it, and light again on paper."""
    return (
        f":root{{{_variables(0)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_variables(1)}}}}}"
        f"@media print{{:root{{{_variables(0)}}}}}"
    )


def in_light(svg: str) -> str:
    """The SVG with each variable replaced by its light colour, and on white: a figure's paper is its publication's."""
    colours = {name: ink.light for name, ink in _inks().items()} | {"paper": WHITE}
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda found: colours[found[1]], svg)


def _inks() -> dict[str, Ink]:
    return INKS | {f"s{index}": ink for index, ink in enumerate(SERIES)}


def _variables(theme: int) -> str:
    return "".join(f"--{name}:{ink[theme]};" for name, ink in _inks().items())
