"""A fact that could be observed, or could not."""

from __future__ import annotations

from enum import Enum


class Observed(Enum):
    """Yes, no, or not observed; in JSON true, false and null. Compare it by `is`: it has no truth value."""

    YES = True
    NO = False
    UNKNOWN = None

    @classmethod
    def of(cls, fact: bool) -> Observed:
        """What was observed."""
        return cls.YES if fact else cls.NO

    def __bool__(self) -> bool:
        raise TypeError("compare an Observed by `is`: UNKNOWN is neither true nor false")
