"""Pure. Sentences that several forms of the report share."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Outcome

_NOTHING_NAMED = {
    Outcome.HEALTHY: "nothing is wrong: no rank waits for one that cannot arrive",
    Outcome.SLOW: "a rank is still busy and the others wait for it",
    Outcome.HANG: "no rank makes progress, and no known cause fits the evidence",
    Outcome.CRASH: "a rank died, and the reason is not known",
}


def nothing_named(outcome: Outcome) -> str:
    """The verdict's sentence for a report without a diagnosis."""
    return _NOTHING_NAMED[outcome]
