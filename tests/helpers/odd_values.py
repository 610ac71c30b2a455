"""Values that stand where another one should: texts, numbers, and TOML that is none."""

import math

TEXTS = (
    *("", " ", "none", "wireguard", "ping", "baseline", "a" * 5000, "\0", "\n", "\x1b[31m", "\u202e", "é", "٣", "🦊"),
    *("../../etc/passwd", "<script>", "${HOME}", "%s", "{0}", "[", "]", "a=", "=a", "+", ":", ",", "..", "1..9", "..."),
    *(
        "0ms..50ms step 10ms",
        "1..1000000000 step 1",
        "1..2 step 0",
        "9..1 step 1",
        "1ms..2s step 1ms",
        "0.1..1 step 0.1",
    ),
    *(
        "ping:count=[1,2,3]",
        "ping:count=[",
        "ping:count=1..9999 step 1",
        "wan:delay=1ms",
        "nan",
        "inf",
        "1e999",
        "*",
        "[!",
    ),
)
"""Texts that stand where another one should."""

NUMBERS = (0, 1, -1, 2, 5, 10, 30, 1500, 2**31, 2**63, 2**64, -(2**63), 10**29, 0.5, 0.95, -0.0, 1e-300, 1e308)
NOT_JSON = {math.inf: "inf", -math.inf: "-inf"}
RAW = (
    *("nan", "-nan", "inf", "-inf", "0x" + "f" * 5000, "9" * 5000, "1" * 4000, "1_000", "0o17", "0b1", "+1", "1e400"),
    *(
        "2024-02-30",
        "1979-05-27T00:32:00Z",
        "07:32:00",
        "'literal'",
        '"""many\nlines"""',
        "'''\\'''",
        '"\\ud800"',
        "{}",
    ),
    *(
        "[" * 300 + "]" * 300,
        "{a=" * 200 + "1" + "}" * 200,
        "[[",
        "}",
        "",
        "[1, [2, [3]]]",
        '"\\u001b[2J"',
        "[,]",
        "true",
    ),
)
"""What TOML may have that a plan does not, and what it may not have."""
