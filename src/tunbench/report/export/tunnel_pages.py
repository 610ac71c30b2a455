"""The tunnels as a page of documentation, made from what they declare."""

import inspect
import sys
from collections.abc import Iterator, Sequence

from tunbench.runner import registry
from tunbench.runner.declare.options import Option, resolve
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.declare.tunnel import About, Claims
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.tunnel import Tunnel

HEAD = """\
# Tunnels

Every technology that this version brings up, made from what each declares: `tunbench list tunnels --markdown` prints
this page. Layers are joined by `+`, from the underlay up, and options follow a colon: `ipsec:mode=transport+gre:ttl=9`.

Every tunnel but `none` takes `mtu`; without it the MTU is the largest that fits, unfragmented, into the layer below, if
its own section does not say otherwise. `inner` is the address family of what a tunnel carries, `outer` that of the
network below it, where there is a choice.
"""


OPTION_COLUMNS = ("option", "default", "allowed", "meaning")


def markdown() -> str:
    """The whole page."""
    kinds = [registry.tunnel(name) for name in registry.tunnel_names()]
    return "\n".join([HEAD, *_overview(kinds), *(line for kind in kinds for line in _section(kind))])


def option_rows(kind: type[Tunnel], mark: str = "`") -> list[tuple[str, str, str, str]]:
    """Name, default, allowed values and meaning of every option, the first three in marks."""
    return [
        (f"{mark}{name}{mark}", f"{mark}{option.default}{mark}", _allowed(option, mark), option.help)
        for name, option in kind.takes().items()
    ]


def claimed(claims: Claims) -> str:
    """The claims in words."""
    return ", ".join(name.replace("_", " ") for name, holds in claims._asdict().items() if holds) or "none"


def families(some: Sequence[int]) -> str:
    """Address families in words."""
    return ", ".join(f"IPv{family}" for family in some)


def _overview(kinds: Sequence[type[Tunnel]]) -> Iterator[str]:
    yield from _table(
        ("tunnel", "layer", "claims", "carries", "runs over", "MTU over 1500 B"),
        [
            (
                f"[{about.name}](#{about.name})",
                str(about.layer),
                claimed(about.claims),
                families(about.families) + (", multicast" if about.multicast else ""),
                _runs_over(about),
                str(_default_mtu(kind)),
            )
            for kind in kinds
            for about in [_usual(kind)]
        ],
    )


def _section(kind: type[Tunnel]) -> Iterator[str]:
    about = _usual(kind)
    yield from (f"## {about.name}", "", f"{about.summary}.", "")
    yield from _prose(kind)
    yield from _table(OPTION_COLUMNS, option_rows(kind))
    form = _format(kind)
    if form.outside or form.inside:
        yield from (f"On the wire, with the usual options{_padding(form)}:", "")
        headers = [(one.name, str(one.size), one.source) for one in (*form.outside, *form.inside)]
        yield from _table(("what", "bytes", "source"), headers)
    yield from (f"Evidence in a capture: `{kind.evidence(_options(kind), about.outer[0])}`", "")
    # Modules are those of all options: what one of them leaves out, another one needs.
    modules = dict.fromkeys(module.name for module in (*kind.about.needs.modules, *about.needs.modules))
    if needs := [*modules, *dict.fromkeys((*about.needs.programs, *about.needs.brought))]:
        yield from (f"Needs: {_listed(needs)}.{_from_where(about)}", "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _from_where(about: About) -> str:
    """Where programs come from that Debian lacks."""
    tools = about.needs.tools
    of_tools = f" `tunbench toolbox install {' '.join(tools)}` installs what Debian lacks." if tools else ""
    return of_tools + (
        f" No registry carries {_listed(about.needs.brought)}: bring it ([how](toolbox.md#bring-a-program))."
        if about.needs.brought
        else ""
    )


def _prose(kind: type[Tunnel]) -> list[str]:
    """What the tunnel's file says of itself, after its first line."""
    lines = (inspect.getdoc(sys.modules[kind.__module__]) or "").splitlines()[1:]
    return [*lines, ""] if any(lines) else []


def _allowed(option: Option, mark: str) -> str:
    choices = ("on", "off") if option.kind == "switch" else option.choices
    if choices:
        return ", ".join(f"{mark}{choice}{mark}" for choice in choices)
    if option.high != float("inf"):
        return f"{option.low:g} to {option.high:.0f}"
    return option.kind


def _padding(form: Format) -> str:
    if form.block == 1:
        return ""
    within = ", but not beyond the MTU" if form.clipped else ""
    return f", padded to a multiple of {form.block} bytes{within}"


def _runs_over(about: About) -> str:
    return "Ethernet" if about.needs_underlay == "ethernet" else families(about.outer)


def _options(kind: type[Tunnel]) -> dict[str, str | int | float | bool]:
    return resolve(kind.takes(), {}, kind.about.name)


def _usual(kind: type[Tunnel]) -> About:
    return kind.with_options(_options(kind))


def _format(kind: type[Tunnel]) -> Format:
    return kind.format(_options(kind), kind.about.outer[0])


def _default_mtu(kind: type[Tunnel]) -> int:
    below = PAIR_UNDERLAYS["ip6" if 4 not in kind.about.outer else "ip"].endpoints
    return next(iter(kind.yields(_options(kind), 0, below).values())).mtu


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    for row in (columns, ["---"] * len(columns), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""
