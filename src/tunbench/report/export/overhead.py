"""What a stack adds to a packet as JSON can say it."""

from typing import Any

from tunbench.analysis import overhead
from tunbench.analysis.overhead import OverheadCheck


def as_json(check: OverheadCheck) -> dict[str, Any]:
    """The headers of each layer, each packet as computed and measured, and the limits."""
    built_stack = overhead.built(check.stack)
    return {
        "stack": check.stack,
        "agrees": check.agrees,
        "reason": check.reason,
        "layers": [
            {
                "layer": layer.about.name,
                "headers": [header._asdict() for header in (*form.outside, *form.inside)],
                "padded_to": form.block,
                "kept_outside": form.kept,
                "padded_within_mtu": form.clipped,
                "smaller_by_at_most": form.spare,
            }
            for layer, form in zip(built_stack.layers, overhead.formats(built_stack), strict=True)
        ],
        "packets": [
            {
                "packet": row.computed.packet,
                "computed": row.computed.added,
                "measured": row.measured.added if row.measured else None,
                "pieces": row.computed.on_the_wire,
                "measured_pieces": row.measured.on_the_wire if row.measured else None,
            }
            for row in check.rows
        ],
        "computed": check.computed._asdict(),
        "measured": check.measured._asdict() if check.measured else None,
    }
