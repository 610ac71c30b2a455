"""Bounds of what programs print: no number is longer, and no value larger, whatever a broken program prints."""

COUNT = r"\d{1,15}"
"""Digits of a count of packets, requests or bytes, as a piece of a regular expression."""

SECONDS = r"\d{1,9}"
"""Digits of whole seconds."""

FRACTION = r"\.\d{1,9}"
"""Digits of a fraction of them, or of milliseconds."""

COUNTER = r"\d{1,20}"
"""Digits of a counter of the kernel, which has 64 bits."""

IDENTIFIER = r"\d{1,10}"
"""Digits of the number of a process, thread, stream or request."""

MAX_DIGITS = 20
"""Digits of a number of nanoseconds of the lab's clock are fewer."""

MOST_NANOSECONDS = 1e13
"""The longest time that irtt may tell: almost three hours."""

MOST_IN_JSON = 1e15
"""The largest number in hey's report: of bytes, requests or seconds."""

LARGEST_PACKET = 65535
"""Bytes of the largest IP packet without jumbograms: RFC 791, section 3.1."""

LAST_WORDS = 200
"""Characters at the end of an output that stand in a message."""


def last_words(text: str) -> str:
    """The end of an output, as a message shows it."""
    return repr(text[-LAST_WORDS:].strip())
