"""The page of the tunnels is made from what they declare."""

import re
import sys
from types import ModuleType

import pytest

from tunbench.report.export import tunnel_pages as page
from tunbench.runner import registry
from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import IP, UDP, Format, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.tunnel import Tunnel

PROSE = """First line.

It is a | made-up technology.
    $ with a command
"""


class Made(Tunnel):
    """A tunnel whose declaration has everything that the page can show."""

    about = About(
        name="made",
        summary="a made-up technology",
        layer=2,
        claims=Claims(integrity=True),
        evidence="udp port {port}",
        headers=(UDP, Header("left | right", 6, "nowhere | at all")),
        options={
            "port": Option("count", "7", "UDP port", low=1, high=65535),
            "wait": Option("duration", "1s", "time to wait"),
            "fast": Option("switch", "on", "whether it is fast"),
            "mode": Option("choice", "one", "its mode", choices=("one", "two")),
        },
        families=(4, 6),
        outer=(6,),
        needs=Needs(modules=(Module("made"),), programs=("maker",)),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        return cls.about._replace(claims=Claims(integrity=True, confidentiality=bool(options["fast"])))

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        return super().format(options, outer)._replace(block=8)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of the page of the made-up tunnel alone."""
    module = ModuleType("made")
    module.__doc__ = PROSE
    monkeypatch.setitem(sys.modules, "made", module)
    monkeypatch.setattr(Made, "__module__", "made")
    monkeypatch.setattr(registry, "tunnel_names", lambda: ["made"])
    monkeypatch.setattr(registry, "tunnel", lambda name: {"made": Made}[name])
    return page.markdown().splitlines()


def test_the_overview_has_what_a_tunnel_declares_under_its_usual_options(made: list[str]) -> None:
    # 1500 - 40 - 8 - 6 = 1446, and 1440 is the next multiple of 8: UDP and the header are outside of the padding.
    largest = Made.format({"fast": True, "mtu": 0}, 6).largest(1500)
    row = f"| [made](#made) | 2 | confidentiality, integrity | IPv4, IPv6 | IPv6 | {largest} |"
    assert largest == 1440
    assert row in made


def test_options_have_what_is_allowed(made: list[str]) -> None:
    assert [line for line in made if line.startswith("| `")] == [
        "| `port` | `7` | 1 to 65535 | UDP port |",
        "| `wait` | `1s` | duration | time to wait |",
        "| `fast` | `on` | `on`, `off` | whether it is fast |",
        "| `mode` | `one` | `one`, `two` | its mode |",
        "| `mtu` | `derived` | 576 to 65535 | MTU of the overlay in bytes |",
        "| `inner` | `ipv4` | `ipv4`, `ipv6` | address family of the overlay |",
    ]


def test_headers_stand_with_their_sources_and_bars_are_no_cells(made: list[str]) -> None:
    at = made.index("On the wire, with the usual options, padded to a multiple of 8 bytes:")
    assert made[at + 4 : at + 7] == [
        f"| IPv6 | {IP[6].size} | {IP[6].source} |",
        "| UDP | 8 | RFC 768 |",
        r"| left \| right | 6 | nowhere \| at all |",
    ]


def test_the_rest_of_what_a_file_says_of_itself_is_prose(made: list[str]) -> None:
    written = [line for line in made[made.index("## made") :] if line]
    assert written[:4] == [
        *("## made", "a made-up technology.", "It is a | made-up technology.", "    $ with a command")
    ]
    assert "First line." not in made


def test_evidence_and_needs(made: list[str]) -> None:
    assert "Evidence in a capture: `udp port 7`" in made
    assert "Needs: `made`, `maker`." in made


def test_marks_can_be_left_out() -> None:
    assert page.option_rows(Made, mark="")[3] == ("mode", "one", "one, two", "its mode")


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        (Claims(), "none"),
        (Claims(replay_protection=True), "replay protection"),
        (Claims(True, True, True), "confidentiality, integrity, replay protection"),
    ],
)
def test_claims_in_words(claims: Claims, words: str) -> None:
    assert page.claimed(claims) == words


def test_every_tunnel_has_a_row_that_leads_to_its_section() -> None:
    text = page.markdown()
    links = re.findall(r"^\| \[([\w-]+)\]\(#([\w-]+)\)", text, re.MULTILINE)
    assert links == [(name, name) for name in registry.tunnel_names()]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == registry.tunnel_names()


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", page.markdown(), re.MULTILINE)
    assert len(tables) > len(registry.tunnel_names())
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table
