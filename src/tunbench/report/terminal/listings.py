"""What there is to measure, and with what, as rows of a table: texts made of what `export` says of each."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from tunbench.plan.extent import duration_in_words
from tunbench.report import units
from tunbench.report.terminal.grid import Grid, GridColumn, rows_of
from tunbench.runner.declare.access import Access
from tunbench.runner.declare.link import DEFAULT_QUEUE_PACKETS
from tunbench.runner.declare.netem_terms import TERMS

CLAIM_LETTERS = {"confidentiality": "c", "integrity": "i", "replay_protection": "r"}
"""What stands for a claim where a tunnel has one line."""

LEGEND = (
    "claims: c confidentiality, i integrity, r protection against replay",
    "programs: toolbox: tunbench toolbox install NAME; image: tunbench lab build;",
    "  bring: tunbench run … --tool PROGRAM=FILE",
    "needs, versions and options of one: tunbench list tunnels NAME",
)
"""What is said below the tunnels."""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid:
    """A table of what is listed, with lines between rows where one takes several."""
    heads = [GridColumn(column, place=column == "name") for column in columns]
    return Grid(heads, rows_of(rows), lines=any("\n" in cell for row in rows for cell in row))


def packages(manifest: Mapping[str, Any], folder: Path) -> Grid:
    """The packages of an image, each with its version."""
    heads = [GridColumn("package", place=True), GridColumn("version")]
    title = f"image {manifest['digest'][:12]} in {folder}"
    return Grid(heads, rows_of(manifest["packages"].items()), title)


def tunnels(rows: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Tunnels, one line each: layer, claims, whether its programs are there, and what it is."""
    heads = [GridColumn("name", place=True), *map(GridColumn, ("layer", "claims", "programs"))]
    yield Grid([*heads, GridColumn("what it is", short=True)], rows_of(map(_tunnel_line, rows)))
    yield ""
    yield from LEGEND


def _tunnel_line(row: Mapping[str, Any]) -> list[str]:
    claims = " ".join(letter if row["claims"][name] else "–" for name, letter in CLAIM_LETTERS.items())
    return [row["name"], str(row["layer"]), claims, _programs(row), _what_it_is(row)]


def _what_it_is(row: Mapping[str, Any]) -> str:
    """What it is, and the plug-in that brings it, if one does."""
    return f"plug-in {row['plugin']}: {row['summary']}" if row["plugin"] else str(row["summary"])


def _programs(row: Mapping[str, Any]) -> str:
    """Where the programs of a tunnel are, or what brings them."""
    needs, lacking = row["needs"], [name for name, version in row["version"].items() if not version]
    if needs["brought"]:
        return "bring"
    if any(name in needs["tools"] for name in lacking):
        return "toolbox"
    return "image" if lacking else "there"


def tunnel_row(row: Mapping[str, Any]) -> list[str]:
    """A tunnel: its layer, claims, needs, versions and what it is."""
    claims = [name.replace("_", " ") for name, claimed in row["claims"].items() if claimed]
    needs = row["needs"]
    fields = ("roles", "modules", "programs", "addons", "tools", "brought")
    needed = [needs["underlay"], *(need for field in fields for need in needs[field])]
    versions = [
        f"{package.replace('linux-image-amd64', 'Linux')} {version or _absent(package, needs)}"
        for package, version in row["version"].items()
    ]
    lists = ("\n".join(one) for one in (claims, dict.fromkeys(needed), versions))
    return [row["name"], str(row["layer"]), *lists, _what_it_is(row)]


def _absent(package: str, needs: Mapping[str, Any]) -> str:
    return "not installed" if package in needs["tools"] else "not in the image"


def workload_row(row: Mapping[str, Any]) -> list[str]:
    """A workload: its options with their defaults, its metrics and what it is."""
    return [row["name"], _written(row["options"]), _metrics(row), _what_it_is(row)]


def topology_row(row: Mapping[str, Any]) -> list[str]:
    """A topology: its options with their defaults, and what it is."""
    return [row["name"], _written(row["options"]), row["summary"]]


def probe_row(row: Mapping[str, Any]) -> list[str]:
    """A probe: its metrics and what it is."""
    return [row["name"], _metrics(row), _what_it_is(row)]


def machine_row(row: Mapping[str, Any]) -> list[str]:
    """A model machine: its speed and what it lacks."""
    return [row["name"], str(row["speed"]), ", ".join([*row["without"], *row.get("kernel_without", [])])]


def _metrics(row: Mapping[str, Any]) -> str:
    return "\n".join(f"{name} ({declared['unit']})" for name, declared in row["metrics"].items())


def profile_row(row: Mapping[str, Any], used: Sequence[str]) -> list[str]:
    """A profile: where netem stands, and the terms of netem that any profile has, in their units."""
    return [row["name"], row["placement"], *(_in_units(term, row["forward"].get(term, 0)) for term in used)]


def tuning_row(row: Mapping[str, Any]) -> list[str]:
    """A tuning: its sysctls and congestion control."""
    sysctls = [f"{name} = {value}" for name, value in row["sysctl"].items()]
    return [row["name"], "\n".join(sysctls), row["congestion"]]


def link_row(row: Mapping[str, Any]) -> list[str]:
    """A link: rate, delay and queue of each direction, MTU, framing, segmentation and what is put together again."""
    directions = [_direction(row[way]) for way in ("up", "down")]
    offloads = [row["segmentation"], *([f"gro {units.plain(row['gro'], 's')}"] if "gro" in row else [])]
    return [row["name"], *directions, str(row["mtu"]), row["framing"], "\n".join(offloads)]


def access_row(row: Mapping[str, Any]) -> list[str]:
    """An access: the rates and queues of its link down and up, its delay, and what it does to packets, a line each."""
    link = row["link"]
    delay = [units.plain(row["delay"], "s"), *([f"± {units.plain(row['jitter'], 's')}"] if row["jitter"] else [])]
    lists = [f"{way} {', '.join(row[way])}" for way in ("allow", "deny") if row[way]]
    done = [f"nat {row['nat']}", f"firewall {row['firewall']}", *lists, *_unusual(row)]
    return [
        row["name"],
        "\n".join(_rate_and_queue(link[way]) for way in ("down", "up")),
        *map("\n".join, (delay, done)),
    ]


def _unusual(row: Mapping[str, Any]) -> list[str]:
    """What an access does besides, where it is another thing than goes without saying."""
    usual = Access("usual").spec()
    keys = ("carrier", "udp_mapping", "tcp_mapping", "icmp", "fragments", "mss", "dscp", "portmap", "family")
    mtu = [f"mtu {row['link']['mtu']}"] if row["link"]["mtu"] != usual["link"]["mtu"] else []
    return [*(f"{key.replace('_', ' ')} {row[key]}" for key in keys if row.get(key) != usual.get(key)), *mtu]


def _rate_and_queue(one: Mapping[str, Any]) -> str:
    rate, _, *queue = _direction(one).splitlines()
    usual = one.get("queue_packets") == DEFAULT_QUEUE_PACKETS
    return rate if usual else ", ".join([rate, *(text.removeprefix("queue ") for text in queue)])


def _direction(one: Mapping[str, Any]) -> str:
    """One direction of a link, a line each: rate, delay, queue."""
    words = [units.plain(one["rate"], "bit/s")] if "rate" in one else ["no rate"]
    words.append(f"delay {units.plain(one['delay'], 's')}")
    if "queue" in one:
        words.append(f"queue {one['queue']}" + (f" of {one['burst']} B" if "burst" in one else ""))
    if "queue_packets" in one:
        words.append(f"queue {one['queue_packets']} packets")
    if "queue_seconds" in one:
        words.append(f"queue {units.plain(one['queue_seconds'], 's')}")
    return "\n".join(words)


def _written(declared: Mapping[str, Mapping[str, Any]]) -> str:
    return "\n".join(f"{name} ({option['default']})" for name, option in declared.items())


def _in_units(term: str, value: float) -> str:
    match TERMS[term].option.kind:
        case "duration":
            return f"{value * 1000:g} ms"
        case "ratio":
            return f"{value * 100:g} %"
        case _:
            return f"{value:g}"


def tool_row(row: Mapping[str, Any]) -> list[str]:
    """A tool: its version and programs, whether it is there, and what installing it takes."""
    takes = row["takes"]
    [(language, oldest)] = [(name, takes[name]) for name in ("go", "rust") if name in takes]
    time_and_disk = f"{duration_in_words(takes['seconds'])}, {size_of(takes['disk'])}"
    pieces = [time_and_disk, f"{language} {oldest}", *takes["packages"]]
    there = f"yes, {size_of(row['size'])}" if row["installed"] else "no"
    effort = f"{pieces[0]}\n{', '.join(pieces[1:])}"
    return [row["name"], row["version"], "\n".join(row["programs"]), there, effort]


def size_of(number: float) -> str:
    """Bytes as people say them."""
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
