"""What commands print as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

SCHEMA = 1
"""The version of what is printed as JSON, whichever command prints it: raised where a key goes or means another thing.

Keys that come besides leave it as it is.
"""


def json_text(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """An object as JSON, with its schema's version; what is listed are its `rows`.

    Of a number that is not finite, which JSON cannot say, there is null.
    """
    found = value if isinstance(value, Mapping) else {"rows": value}
    return json.dumps(_finite({"schema": SCHEMA, **found}), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
