"""JSON for a person to read, or for another program."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def to_text(value: Any) -> str:
    """Return a value as JSON; null for NaN and infinity, which it does not have.

    Examples
    --------
    >>> print(to_text({"pa": 0.5, "ap": math.nan}))
    {
     "pa": 0.5,
     "ap": null
    }
    """
    return json.dumps(without_nan(value), indent=1, default=str, allow_nan=False)


def without_nan(value: Any) -> Any:
    """Return a value as JSON can hold it: plain numbers, None for NaN and infinity."""
    if type(value).__module__ == "numpy":  # which is not loaded here: messages come at once
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
