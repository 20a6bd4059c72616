"""Values as JSON can say them: records come in, the same without numbers it has no word for."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:  # noqa: ANN401  # whatever a record holds
    """The value with None for nan and the infinities, however deep they stand in it."""
    match value:
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list() | tuple():
            return [finite(each) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value
