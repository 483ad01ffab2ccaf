"""Pure. JSON that another process wrote."""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str | bytes | bytearray) -> Any:
    """The value. Raises ValueError for anything that is no JSON, or that is nested too deeply to be read: for that the
    standard library has a RecursionError, which no reader expects."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
