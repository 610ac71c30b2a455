"""The templates of a page: every text in them is escaped, and an undefined name is a mistake."""

import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape


def text(name: str) -> str:
    """A file beside the templates, as it is."""
    return files("tunbench.report.page").joinpath("templates", name).read_text(encoding="utf-8")


def template(name: str) -> Template:
    """A template, with the filters that all have: `svg` for our own drawings, and `breakable` for spellings."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = Markup  # Charts are made by us, with every text in them escaped.
    environment.filters["breakable"] = _breakable
    environment.filters["percent"] = lambda share: f"{share:.0%}".replace("%", "\N{NO-BREAK SPACE}%")
    environment.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    return environment


def _breakable(spelling: str) -> Markup:
    """A spelling, escaped, that may go on in a new line behind each `+`, `:` and `,`."""
    return Markup(re.sub(r"[+:,]", r"\g<0><wbr>", str(escape(spelling))))
