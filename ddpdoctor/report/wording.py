"""Pure. Sentences that several forms of the report share."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome, Retry
from ddpdoctor.model.waited import Waited

_NOTHING_NAMED = {
    Outcome.HEALTHY: "nothing is wrong: no rank waits for one that cannot arrive",
    Outcome.SLOW: "a rank is still busy and the others wait for it",
    Outcome.HANG: "no rank makes progress, and no known cause fits the evidence",
    Outcome.DESYNC: "ranks have shifted against each other, and all still move",
    Outcome.CRASH: "a rank died, and the reason is not known",
}


def nothing_named(outcome: Outcome) -> str:
    """The verdict's sentence for a report without a diagnosis."""
    return _NOTHING_NAMED[outcome]


def again_in_words(outcome: Outcome, diagnosis: Diagnosis) -> str:
    """What running the same job again would do; "" if that is not known. It holds only if the diagnosis does.

    A job that is merely slow has not failed, and nobody asks.
    """
    if diagnosis.retry is Retry.UNKNOWN or outcome not in (Outcome.HANG, Outcome.CRASH):
        return ""
    condition = "" if diagnosis.confidence is Confidence.CERTAIN else "if so, "
    return f"{condition}the same job {diagnosis.retry.value}"


def waited_in_words(waited: Waited | None) -> str:
    """Who is waited for, if somebody stands out; else ""."""
    if waited is None or not waited.stragglers:
        return ""
    parts = []
    for one in waited.stragglers[:2]:
        where = f" at {one.location.file.rpartition('/')[2]}:{one.location.line}" if one.location else ""
        doing = f", {one.doing}{where}" if one.doing else ""
        times = f"in {one.last} of {one.meetings} times {one.meeting}"
        parts.append(
            f"rank {one.rank} {times}, {1000 * one.seconds:.0f} ms {'more' if waited.device else 'each'}{doing}"
        )
    if waited.device:
        return f"the host does not wait for the device; the longest steps of the hosts: {'; '.join(parts)}"
    return f"ranks waited {100 * waited.share:.0f} % of the time: {'; '.join(f'for {part}' for part in parts)}"
