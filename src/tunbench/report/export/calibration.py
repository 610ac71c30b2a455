"""What a host came to beside the VM, as JSON can say it."""

from collections.abc import Sequence
from typing import Any

from tunbench.calibrate.fit import Fit
from tunbench.calibrate.items import machine_table
from tunbench.calibrate.requirements import Missing


def as_json(fitted: Fit, missing: Sequence[Missing], cores: int, beyond: Sequence[str]) -> dict[str, Any]:
    """The machine, each item on both sides with its own speed, what was not measured, and what is to be known."""
    return {
        "machine": {
            "name": fitted.machine.name,
            "speed": fitted.machine.speed,
            "without": list(fitted.machine.without),
        },
        "toml": f"machine = {machine_table(fitted.machine)}",
        "speed_unbounded": fitted.speed,
        "fits_within_factor": fitted.factor,
        "half_within_factor": fitted.usual_factor,
        "worst": fitted.worst.item.name,
        "items": [
            {
                "item": one.item.name,
                "unit": one.item.unit,
                "native": one.native,
                "virtual": one.virtual,
                "speed": one.speed,
                "off": fitted.off(one),
                "checked": fitted.checked.get(one.item),
            }
            for one in fitted.compared
        ],
        "missing": [{"item": one.item.name, "why": one.why, "mend": one.mend} for one in missing],
        "cores": cores,
        "not_emulated": list(beyond),
    }
