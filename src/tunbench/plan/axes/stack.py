"""Reads the stacks and workloads of a plan, and says whether their layers can be joined."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise

from tunbench.plan.axes import sweep
from tunbench.plan.axes.sweep import LONGEST_NAME
from tunbench.plan.shard import needed_underlay
from tunbench.plan.toml.positions import shown
from tunbench.runner import invocation
from tunbench.runner.declare import spelling
from tunbench.runner.declare.options import Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network import underlay
from tunbench.runner.network.underlay import MTU
from tunbench.runner.stack import read
from tunbench.runner.tunnel import SMALLEST_MTU, About, Tunnel

BARE = "none"
BARE_ON = {"ip6": "none:underlay=ip6", "ethernet": "none:underlay=ethernet"}
"""The bare underlay of the kinds that are not the usual one."""

Meaning = tuple[object, ...]
"""What a spelling says, with every default filled in: two spellings of one thing have one meaning."""


def read_stacks(value: object, mtu: int = MTU) -> Iterator[str]:
    """The stacks that an entry of a plan stands for: one, or those of its sweeps. Raises ValueError."""
    return (read_stack(text, mtu) for text in _swept(value, "stack", "wireguard+vxlan"))


def read_workloads(value: object) -> Iterator[str]:
    """The workloads that an entry of a plan stands for: one, or those of its sweeps. Raises ValueError."""
    return (read_workload(text) for text in _swept(value, "workload", "iperf3-tcp:duration=2"))


def layers_of(stack: str) -> int:
    """How many layers a stack has."""
    return stack.count("+") + 1


def compared(stacks: Sequence[str]) -> list[str]:
    """The stacks, and `none` on each kind of underlay that they need, if it is among them: ratios are within a kind."""
    listed = {meaning_of_stack(stack) for stack in stacks}
    if meaning_of_stack(BARE) not in listed:
        return list(stacks)
    needed = {needed_underlay(stack) for stack in stacks}
    added = [bare for kind, bare in BARE_ON.items() if kind in needed and meaning_of_stack(bare) not in listed]
    return [*stacks, *added]


def endpoints(kind: str, mtu: int = MTU) -> dict[str, Overlay]:
    """What the underlay of a kind gives its endpoints where its links have that MTU in bytes."""
    return dict(underlay.of(kind, mtu=mtu).endpoints)


def read_stack(value: object, mtu: int = MTU) -> str:
    """The canonical spelling of a stack whose layers are known and can be joined over links of that MTU in bytes.

    Raises ValueError.
    """
    return _canonical(_text(value, "stack", "wireguard+vxlan"), mtu)


@lru_cache(maxsize=20_000)
def _canonical(text: str, mtu: int) -> str:
    """What `read_stack` says of a text: a study names the same stacks again and again."""
    layers = spelling.stack(text)
    meaning_of_stack(spelling.join(layers))
    _joined(layers, mtu)
    return spelling.join(layers)


def read_workload(value: object) -> str:
    """The canonical spelling of a workload that is known. Raises ValueError."""
    workload = spelling.part(_text(value, "workload", "iperf3-tcp:duration=2"))
    meaning_of_workload(str(workload))
    return str(workload)


def meaning_of_stack(stack: str) -> Meaning:
    """Each layer's name with the value of every option, in SI units. Raises ValueError."""
    return tuple((layer.name, *_read(str(layer))[1].items()) for layer in spelling.stack(stack))


def meaning_of_workload(workload: str) -> Meaning:
    """The workload's name with the value of every option, in SI units. Raises ValueError."""
    what = invocation.read(workload)
    return (what.module.ABOUT.name, *what.options.items())


@lru_cache(maxsize=20_000)
def _read(layer: str) -> tuple[type[Tunnel], Options, About]:
    """The tunnel of a layer, the value of each of its options, and what it declares; it is asked for often."""
    kind, options = read(spelling.part(layer))
    return kind, options, kind.with_options(options)


def _joined(layers: list[spelling.Part], mtu: int) -> None:
    abouts = [_read(str(layer))[2] for layer in layers]
    if len(abouts) > 1 and any(about.name == "none" for about in abouts):
        raise ValueError(f'"{spelling.join(layers)}" joins none, which is no layer: take "none" away')
    for below, above in pairwise(abouts):
        _carried(below, above)
    _apart(layers)
    _families_fit(layers, mtu)


def _carried(below: About, above: About) -> None:
    if above.needs_underlay == "ethernet" and below.layer == 3:
        raise ValueError(
            f"{above.name} needs Ethernet below it, and {below.name} carries IP packets only (layer 3): "
            f"put {above.name} lowest, or a layer 2 tunnel such as vxlan between them"
        )


def _apart(layers: list[spelling.Part]) -> None:
    """Two layers must not want the same thing of a node, such as a UDP port."""
    wanted: set[object] = set()
    ports: dict[str, str] = {}
    for layer in layers:
        kind, options, about = _read(str(layer))
        exclusive = kind.about.exclusive
        if exclusive is not None:
            mine = (layer.name, *(options[name] for name in exclusive))
            if mine in wanted:
                raise ValueError(f'"{spelling.join(layers)}" cannot come up: {_twice(layer.name, exclusive)}')
            wanted.add(mine)
        for port in (text.format(**options) for text in about.ports):
            # The kernel hands out to several interfaces of one kind what arrives at their common port.
            if ports.setdefault(port, layer.name) != layer.name:
                raise ValueError(
                    f'"{spelling.join(layers)}" cannot come up: {ports[port]} and {layer.name} both want the port '
                    f"{port}: give one of them another"
                )


def _twice(name: str, exclusive: tuple[str, ...]) -> str:
    if not exclusive:
        return f"{name} can stand in a stack once only"
    return f"{name} stands in it twice: give one of them another {' or '.join(exclusive)}, as {name}:{exclusive[0]}=…"


def _families_fit(layers: list[spelling.Part], mtu: int) -> None:
    """Each layer runs over the address family that the one below it has, and leaves an MTU that is of use."""
    # What holds at one endpoint holds at all of them.
    below: Mapping[str, Overlay] = dict(islice(endpoints(needed_underlay(spelling.join(layers)), mtu).items(), 1))
    under = "the underlay"
    least = SMALLEST_MTU[next(iter(below.values())).family]
    if mtu < least:
        raise ValueError(f'"{spelling.join(layers)}" needs an underlay MTU of {least} bytes, and a tuning has {mtu}')
    for index, layer in enumerate(layers):
        kind, options, _ = _read(str(layer))
        about, family = kind.about, next(iter(below.values())).family
        if about.needs_underlay == "ip" and family not in about.outer:
            raise ValueError(f"{layer.name} cannot run over IPv{family}, which {under} has")
        if index > 0 and layer.options.get("outer", f"ipv{family}") != f"ipv{family}":
            raise ValueError(f"{layer} asks for another outer address family than {under} has: take the option away")
        below, under = kind.yields(options, index, below), str(layer)
        top = next(iter(below.values()))
        if top.mtu < SMALLEST_MTU[top.family]:
            raise ValueError(
                f'"{spelling.join(layers)}" leaves an MTU of {top.mtu} bytes at {layer.name}, and '
                f"{SMALLEST_MTU[top.family]} are needed for IPv{top.family}: take layers away or another mtu"
            )


def _swept(value: object, what: str, example: str) -> list[str]:
    """The spellings that an entry stands for; one with many values in it may be long."""
    return sweep.spellings(value) if isinstance(value, str) else [_text(value, what, example)]


def _text(value: object, what: str, example: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f'{shown(value)} is not a {what}: write its spelling in quotes, such as "{example}"')
    if len(value) > LONGEST_NAME:
        raise ValueError(f"{shown(value)} has {len(value)} characters: at most {LONGEST_NAME} are allowed")
    return value
