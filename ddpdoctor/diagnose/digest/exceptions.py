"""What an exception says about running the same job again."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Retry
from ddpdoctor.model.progress import Raised

#: types that the program and its data decide, not the machine or the hour; an OSError, a RuntimeError or an
#: OutOfMemoryError may be either
_OF_THE_PROGRAM = frozenset(
    {
        "AssertionError",
        "AttributeError",
        "ImportError",
        "IndentationError",
        "IndexError",
        "KeyError",
        "ModuleNotFoundError",
        "NameError",
        "NotImplementedError",
        "RecursionError",
        "SyntaxError",
        "TypeError",
        "UnboundLocalError",
        "UnicodeDecodeError",
        "ValueError",
        "ZeroDivisionError",
    }
)


def retry_of(raised: Raised | None) -> Retry | None:
    """What running again would do if this ended the rank; None if the type does not say it."""
    return Retry.FAILS_AGAIN if raised is not None and raised.type in _OF_THE_PROGRAM else None
