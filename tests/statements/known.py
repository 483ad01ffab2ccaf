"""What is known to be said without support, until it is mended; nothing else may be."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.statements.check import Fault


@dataclass(frozen=True, slots=True)
class Known:
    """Faults of one kind: patterns for their diagnosis' code and for what is wrong, and the reason."""

    code: str
    wrong: str
    reason: str

    def covers(self, fault: Fault) -> bool:
        return bool(re.fullmatch(self.code, fault.code) and re.search(self.wrong, fault.wrong))


KNOWN = (
    Known(r"DD\d+", r", as rank \d+ is$", "what the first of several ranks does is said of all of them"),
    Known("DD206", "occurs in nothing of rank", "the place of an operation is that of the condition that leads to it"),
    Known("DD219", "does not stand at", "the place of a quoted condition is that of the call below it"),
)


def unknown(faults: tuple[Fault, ...]) -> list[Fault]:
    """Faults that are not known."""
    return [fault for fault in faults if not any(known.covers(fault) for known in KNOWN)]
