"""Texts that come from elsewhere, without what would act on a terminal or deceive whoever reads them."""

import re

COLOUR = re.compile("\x1b\\[[0-9;]*m")
"""ECMA-48, section 8.3.117: how a program colours what it prints."""

CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # ASCII's and ISO 6429's control characters, but tabulator and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # Unicode Standard Annex 9, section 2: what turns the direction
    "\ud800-\udfff\ufffe\uffff]"  # what is no character at all
)


def plain(text: str) -> str:
    """The text without colours, and with a replacement character for each control character but \\n and \\t."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", COLOUR.sub("", text.replace("\r\n", "\n")))


def line(text: str, longest: int = 1000) -> str:
    """The text in one line of bearable length."""
    short = text if len(text) <= longest else f"{text[:longest]}…"
    return plain(short.replace("\n", "\\n").replace("\t", "\\t"))
