"""Whether the layers of a stack can be joined: each must find below it what it needs, and leave room above it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import NamedTuple

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.overlay import SMALLEST_MTU, Overlay
from tunbench.runner.declare.spelling import Part
from tunbench.runner.declare.tunnel import BARE, About
from tunbench.runner.network import underlay
from tunbench.runner.network.underlay import MTU, WIRE
from tunbench.runner.tunnel import Tunnel


class TooNarrow(ValueError):
    """The links below a stack carry smaller packets than it needs."""


class Layer(NamedTuple):
    """A layer of a stack: as it is written, its tunnel, the value of each option, and what it declares under these."""

    part: Part
    kind: type[Tunnel]
    options: Options
    about: About


def endpoints(kind: str, mtu: int = MTU) -> dict[str, Overlay]:
    """What the underlay of a kind gives its endpoints where its links have that MTU in bytes."""
    return dict(underlay.of(kind, link=replace(WIRE, mtu=mtu)).endpoints)


def check(stack: str, layers: Sequence[Layer], kind: str, mtu: int) -> None:
    """Raises ValueError where the layers of a stack cannot be joined over an underlay of that kind and MTU in bytes.

    It is TooNarrow where a larger MTU would help.
    """
    if len(layers) > 1 and any(layer.about.name == BARE for layer in layers):
        raise ValueError(f'"{stack}" joins {BARE}, which is no layer: take "{BARE}" away')
    for below, above in pairwise(layers):
        _check_carried(below.about, above.about)
    _check_apart(stack, layers)
    _check_room(stack, layers, endpoints(kind, mtu), mtu)


def _check_carried(below: About, above: About) -> None:
    if below.pods:
        raise ValueError(f"nothing can run over {below.name}, whose endpoints are pods: put it on top")
    if above.needs_underlay == "ethernet" and below.layer == 3:
        raise ValueError(
            f"{above.name} needs Ethernet below it, and {below.name} carries IP packets only (layer 3): "
            f"put {above.name} lowest, or a layer 2 tunnel such as vxlan between them"
        )


def _check_apart(stack: str, layers: Sequence[Layer]) -> None:
    """Two layers must not want the same thing of a node, such as a UDP port."""
    taken: set[object] = set()
    ports: dict[str, str] = {}
    for layer in layers:
        name, exclusive = layer.part.name, layer.kind.about.exclusive
        if exclusive is not None:
            own = (name, *(layer.options[option] for option in exclusive))
            if own in taken:
                raise ValueError(f'"{stack}" cannot come up: {_twice(name, exclusive)}')
            taken.add(own)
        for port in (text.format(**layer.options) for text in layer.about.ports):
            # The kernel hands out to several interfaces of one kind what arrives at their common port.
            if ports.setdefault(port, name) != name:
                raise ValueError(
                    f'"{stack}" cannot come up: {ports[port]} and {name} both want the port '
                    f"{port}: give one of them another"
                )


def _twice(name: str, exclusive: tuple[str, ...]) -> str:
    if not exclusive:
        return f"{name} can stand in a stack once only"
    return f"{name} stands in it twice: give one of them another {' or '.join(exclusive)}, as {name}:{exclusive[0]}=…"


def _check_fits(layer: Layer, below: Overlay, carrier: str) -> None:
    """The kernel refuses some interfaces an MTU beyond that of what carries them."""
    if not layer.about.fits_carrier:
        return
    asked, fits = int(layer.options["mtu"]), layer.kind.mtu({**layer.options, "mtu": 0}, below)
    if asked > fits:
        raise TooNarrow(
            f"{layer.part} asks for an MTU of {asked} bytes, which the kernel refuses: over {carrier} with "
            f"{below.mtu} bytes it takes {fits} at most"
        )


def _check_room(stack: str, layers: Sequence[Layer], ends: Mapping[str, Overlay], mtu: int) -> None:
    """Each layer runs over the address family that the one below it has, and leaves an MTU that is of use."""
    # What holds at one endpoint holds at all of them.
    below: Mapping[str, Overlay] = dict(islice(ends.items(), 1))
    carrier = "the underlay"
    least = SMALLEST_MTU[next(iter(below.values())).family]
    if mtu < least:
        raise TooNarrow(f'"{stack}" needs an underlay MTU of {least} bytes, and a link has {mtu}: give it a larger mtu')
    for index, layer in enumerate(layers):
        name, about, family = layer.part.name, layer.kind.about, next(iter(below.values())).family
        if about.needs_underlay == "ip" and family not in about.outer:
            raise ValueError(f"{name} cannot run over IPv{family}, which {carrier} has")
        if index > 0 and layer.part.options.get("outer", f"ipv{family}") != f"ipv{family}":
            raise ValueError(
                f"{layer.part} asks for another outer address family than {carrier} has: take the option away"
            )
        _check_fits(layer, next(iter(below.values())), carrier)
        below, carrier = layer.kind.yields(layer.options, index, below), str(layer.part)
        top = next(iter(below.values()))
        if top.mtu < SMALLEST_MTU[top.family]:
            raise TooNarrow(
                f'"{stack}" leaves an MTU of {top.mtu} bytes at {name}, and {SMALLEST_MTU[top.family]} are needed for '
                f"IPv{top.family}: take layers away, or give the link a larger mtu"
            )
