"""Reads the stacks of a plan: tunnels joined by +, from the underlay up, whose options may sweep."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from tunbench.plan.axes import joining, sweep
from tunbench.plan.axes.joining import Layer, TooNarrow
from tunbench.plan.axes.reader import AxisReader, Limit
from tunbench.plan.toml.bounds import MAX_LAYERS
from tunbench.plan.toml.tables import Known
from tunbench.runner import registry, stack
from tunbench.runner.declare import spelling
from tunbench.runner.declare.spelling import Part
from tunbench.runner.declare.tunnel import BARE, MOST_MEMORY, About, Needs
from tunbench.runner.network.underlay import MTU, WIRE

BARE_ON = {"ip6": f"{BARE}:underlay=ip6", "ethernet": f"{BARE}:underlay=ethernet"}
"""The bare underlay of the kinds that are not the usual one."""

EXAMPLE = "wireguard+vxlan"


@dataclass(frozen=True)
class PlannedStack:
    """A stack as a plan spells it, with its layers from the underlay up."""

    name: str
    layers: tuple[Layer, ...] = field(compare=False, repr=False)

    @property
    def abouts(self) -> list[About]:
        """What its layers declare under their options."""
        return [layer.about for layer in self.layers]

    @property
    def meaning(self) -> Hashable:
        """Each layer's name with the value of every option: two spellings of one stack have one meaning."""
        return tuple((layer.part.name, *layer.options.items()) for layer in self.layers)

    @property
    def underlay(self) -> str:
        """The kind of underlay that it needs: `ethernet` where that is a bridge, else `ip` or `ip6`."""
        return underlay_below(self.layers[0].part)

    @property
    def roles(self) -> list[str]:
        """The roles that its layers need besides endpoints."""
        return list(dict.fromkeys(role for about in self.abouts for role in about.roles))

    @property
    def needs(self) -> list[Needs]:
        """What each of its layers needs."""
        return [about.needs for about in self.abouts]

    @property
    def addons(self) -> list[str]:
        """The images that its layers need beyond the base image, sorted."""
        return sorted({name for needs in self.needs for name in needs.addons})

    @property
    def memory(self) -> int:
        """What its layers take of a VM's memory beyond the usual, in GiB."""
        return sum(about.needs.memory for about in self.abouts)

    @property
    def saved_when_up(self) -> bool:
        """Whether a VM is saved once it is up, since that takes minutes; what differs behind goes on from there."""
        return any(about.pods for about in self.abouts)

    def spec(self) -> str:
        """The stack as a shard names it."""
        return self.name


def underlay_below(lowest: Part) -> str:
    """The kind of underlay that a lowest layer needs. Raises ValueError where there is no such tunnel."""
    about = registry.tunnel(lowest.name).about
    if about.needs_underlay == "ip" and lowest.options.get("outer") == "ipv6":
        return "ip6"
    return lowest.options.get("underlay", about.needs_underlay)


@registry.remembered
def parse(text: str) -> PlannedStack:
    """The stack of a spelling whose layers are known, whether or not they can be joined. Raises ValueError."""
    parts = spelling.stack(text)
    return PlannedStack(spelling.join(parts), tuple(read_layer(str(part)) for part in parts))


@registry.remembered
def read_layer(text: str) -> Layer:
    """The layer of a spelling: the stacks of a sweep have most of theirs in common. Raises ValueError."""
    part = spelling.part(text)
    kind, options = stack.read(part)
    return Layer(part, kind, options, kind.with_options(options))


@registry.remembered
def read_joined(text: str, mtu: int) -> PlannedStack:
    """A stack whose layers can be joined: a study names the same ones again and again. Raises ValueError."""
    found = parse(text)
    joining.check(found.name, found.layers, found.underlay, mtu)
    if found.memory > MOST_MEMORY:
        raise ValueError(
            f'"{found.name}" needs {found.memory} GiB of memory in a VM beyond the usual one, and {MOST_MEMORY} can be '
            "had: take a layer away"
        )
    return found


def read_stack(value: object, mtu: int = MTU) -> PlannedStack:
    """The stack that a text spells, if its layers can be joined over links of that MTU in bytes. Raises ValueError."""
    return read_joined(sweep.spelled(value, "stack", EXAMPLE), mtu)


def read_stacks(value: object, known: Known) -> Iterator[PlannedStack]:
    """The stacks that an entry stands for: one, or those of its sweeps. Raises ValueError.

    They must fit over the plan's links of the least MTU.
    """
    narrowest = min(known.get("link", ()), key=lambda link: link.mtu, default=WIRE)
    for text in sweep.all_spelled(value, "stack", EXAMPLE):
        try:
            yield read_stack(text, narrowest.mtu)
        except TooNarrow as error:
            # Of one that has the usual MTU there is nothing to say.
            raise ValueError(f'{error} (link "{narrowest.name}")' if narrowest.mtu < MTU else str(error)) from None


def compared(stacks: Sequence[PlannedStack]) -> list[PlannedStack]:
    """The stacks, and `none` on each kind of underlay that they need, if it is among them: ratios are within a kind."""
    listed = {one.meaning for one in stacks}
    if parse(BARE).meaning not in listed:
        return list(stacks)
    needed = {one.underlay for one in stacks}
    bare = [parse(text) for kind, text in BARE_ON.items() if kind in needed]
    return [*stacks, *(one for one in bare if one.meaning not in listed)]


READER = AxisReader(
    'stacks = ["none", "wireguard"]',
    read_stacks,
    lambda one: one.meaning,
    compared,
    Limit(MAX_LAYERS, "layers", lambda one: len(one.layers)),
)
