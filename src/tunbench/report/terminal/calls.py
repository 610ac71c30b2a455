"""What calls over each stack are like, for the terminal."""

import math
from collections.abc import Iterator, Sequence

from tunbench.analysis.calls import Call
from tunbench.report import units

SCALE = "R is that of ITU-T G.107: 90 and more is very good, below 70 many are dissatisfied; MOS goes from 1 to 4.5"
"""ITU-T G.107, annex B, table B.1."""


def lines(calls: Sequence[Call]) -> Iterator[str]:
    """A line for each stack, the best first, and what the numbers mean."""
    several = len({one.condition for one in calls}) > 1
    for one in sorted(calls, key=lambda call: (-call.rating.median, call.unplayed)):
        where = f" ({one.condition})" if several else ""
        found, n = one.rating, one.rating.n
        delay = f"{units.quantity(one.delay, 's')} from mouth to ear" if math.isfinite(one.delay) else "one way silent"
        around = f"{found.low:.1f} to {found.high:.1f}, {found.kind} of {n} trials" if n > 1 else "1 trial"
        told = (
            f"{one.stack}{where}: R {found.median:.1f} ({around}), MOS {one.opinion.median:.2f}; "
            f"{delay}, {units.quantity(one.unplayed, 'ratio')} not played"
        )
        yield told.replace(units.NBSP, " ")
    if calls:
        yield SCALE
