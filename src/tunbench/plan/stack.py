"""Reads the stacks and workloads of a plan, and says whether their layers can be joined."""

from itertools import pairwise

from tunbench.runner import registry, spelling
from tunbench.runner.contract import About
from tunbench.runner.options import resolve
from tunbench.runner.underlay import MTU

Meaning = tuple[object, ...]
"""What a spelling says, with every default filled in: two spellings of one thing have one meaning."""

SMALLEST_MTU = 576
"""Bytes that every host must be able to take: RFC 791, section 3.1, "Total Length"."""


def read_stack(value: object) -> str:
    """The canonical spelling of a stack whose layers are known and can be joined. Raises ValueError."""
    layers = spelling.stack(_text(value, "stack", "wireguard+vxlan"))
    meaning_of_stack(spelling.join(layers))
    _joined(layers)
    return spelling.join(layers)


def read_workload(value: object) -> str:
    """The canonical spelling of a workload that is known. Raises ValueError."""
    workload = spelling.part(_text(value, "workload", "iperf3-tcp:duration=2"))
    meaning_of_workload(str(workload))
    return str(workload)


def meaning_of_stack(stack: str) -> Meaning:
    """Each layer's name with the value of every option, in SI units. Raises ValueError."""
    return tuple(
        (layer.name, *resolve(registry.tunnel(layer.name).about.options, layer.options, layer.name).items())
        for layer in spelling.stack(stack)
    )


def meaning_of_workload(workload: str) -> Meaning:
    """The workload's name with the value of every option, in SI units. Raises ValueError."""
    part = spelling.part(workload)
    return (part.name, *resolve(registry.workload(part.name).ABOUT.options, part.options, part.name).items())


def _joined(layers: list[spelling.Part]) -> None:
    abouts = [registry.tunnel(layer.name).about for layer in layers]
    if len(abouts) > 1 and any(about.name == "none" for about in abouts):
        raise ValueError(f'"{spelling.join(layers)}" joins none, which is no layer: take "none" away')
    for below, above in pairwise(abouts):
        _carried(below, above)
    left = MTU - sum(_overhead(layer) for layer in layers)
    if left < SMALLEST_MTU:
        raise ValueError(
            f'"{spelling.join(layers)}" leaves an MTU of {left} bytes, and {SMALLEST_MTU} are needed: take layers away'
        )


def _carried(below: About, above: About) -> None:
    if above.needs_underlay == "ethernet" and below.layer == 3:
        raise ValueError(
            f"{above.name} needs Ethernet below it, and {below.name} carries IP packets only (layer 3): "
            f"put {above.name} lowest, or a layer 2 tunnel such as vxlan between them"
        )


def _overhead(layer: spelling.Part) -> int:
    tunnel = registry.tunnel(layer.name)
    return tunnel.overhead(resolve(tunnel.about.options, layer.options, layer.name))


def _text(value: object, what: str, example: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is not a {what}: write its spelling in quotes, such as "{example}"')
    return value
