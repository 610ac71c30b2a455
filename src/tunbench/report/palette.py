"""The colours of a report, each for light and for dark, and how a chart's light colours become either."""

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


STYLES = {"ok": "green", "unsupported": "dim", "not run": "dim"}


def style_of(verdict: str) -> str:
    """How the terminal shows a verdict; what is none of the usual ones is bad news."""
    return STYLES.get(verdict, "bold red")


def light(name: str) -> str:
    """The colour that a chart uses; `themed` makes it follow the reader's theme."""
    return INKS[name].light


def themed(svg: str) -> str:
    """The SVG with each light colour of INKS replaced by the CSS variable of its name."""
    for name, ink in INKS.items():
        svg = svg.replace(f'"{ink.light}"', f'"var(--{name})"')
    return svg


def css() -> str:
    """The colours as CSS variables: light, dark where the reader prefers it, and light again on paper."""
    return (
        f":root{{{_variables(0)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_variables(1)}}}}}"
        f"@media print{{:root{{{_variables(0)}}}}}"
    )


def _variables(theme: int) -> str:
    return "".join(f"--{name}:{ink[theme]};" for name, ink in INKS.items())
