"""What a choice will do, before it begins."""

from collections.abc import Iterator

from tunbench.plan.choice import MOST_REPEATS, Choice, Line
from tunbench.plan.estimate.host_pace import estimate
from tunbench.plan.expand import least
from tunbench.plan.extent import duration_in_words
from tunbench.plan.load import Loaded
from tunbench.plan.until import BLOCK
from tunbench.report import units
from tunbench.runner.declare import quantity


def plan(choice: Choice, loaded: Loaded, workers: int, minutes: float) -> Iterator[str]:
    """The line, what is measured over it, and how long that takes."""
    both = choice.a == choice.b
    sites = f"each site has {_line(choice.a)}" if both else f"a has {_line(choice.a)}, b {_line(choice.b)}"
    trip = _spaced(2 * quantity.duration(choice.delay), "s")
    yield f"the line      {sites}; {choice.delay} one way (ping: {trip}), {choice.loss} lost"
    yield f"that leaves   {_rate(choice.to_b)} from a to b, {_rate(choice.to_a)} from b to a"
    yield f"is measured   {choice.purpose.words}, over {', '.join(choice.stacks)}"
    first = least(loaded.plan)
    repeats, seconds = first[-1].repeat, estimate(first, workers, loaded.plan.lab.clock)
    yield (
        f"repeats       {repeats} of each, then blocks of {BLOCK} up to {MOST_REPEATS}, until intervals are at most "
        f"{choice.purpose.width} wide or {minutes:g} min are over"
    )
    yield f"how long      about {duration_in_words(seconds)} for the first {repeats}"
    if seconds > 60 * minutes:
        yield (
            f"{minutes:g} min are too few for that: the fewer repeats, the wider the ranges, and below 6 nothing is "
            f"told apart; give --minutes {-(-seconds // 60):.0f}, or fewer stacks"
        )


def _line(line: Line) -> str:
    return f"{_rate(line.down)} down and {_rate(line.up)} up"


def _rate(written: str) -> str:
    return _spaced(quantity.rate(written), "bit/s")


def _spaced(value: float, unit: str) -> str:
    return units.quantity(value, unit).replace(units.NBSP, " ")
