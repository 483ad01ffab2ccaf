"""# DD216 signal-on-some-ranks

## What
A signal (a preemption notice, SIGTERM, SIGUSR1) reached only some ranks, and they act on it at once.

## Why it hangs
The handler sets a flag, and the rank leaves its loop to save. The other ranks do not know about the signal and wait for
the rank in their next step.

## Example
    signal.signal(signal.SIGUSR1, self.note)      # note() sets self.requested
    for batch in loader:
        train(batch)
        if self.requested:
            break

## Fix
Let the ranks agree once per step: all_reduce(MAX) of the flag, and act on the result.

## When it is wrong
There is no evidence that the handler ran; the source only shows that a handler sets the flag. The diagnosis is at most
`likely`, and a flag that other code sets as well may be DD206.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/20825
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SIGNAL_ON_SOME_RANKS
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import decisions
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.signal_flags import signal_flag
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.SIGNAL):
        yield _diagnosis(facts, divergence)


def _diagnosis(facts: Facts, divergence: Divergence) -> Diagnosis:
    found = signal_flag(facts, divergence)
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    flag, handler = found[1:] if found else ("", "")
    first = divergence.place(found[0]) if found else None
    # with equally many on each side, the signalled ranks are still the ones that diverged
    culprits = divergence.culprits
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    return diagnosis(
        SIGNAL_ON_SOME_RANKS,
        facts.waiting,
        confidence=confidence,
        blame=Confidence.POSSIBLE if divergence.tie else divergence.blame(confidence),
        culprits=culprits,
        summary=(
            f"{odd} went to {wording.step(divergence.odd_next)} because of a signal, {reference} went on to "
            f"{wording.step(divergence.reference_next)}"
        ),
        why=(
            f"`{flag}` is set by {handler}, which handles a signal. It reached {odd} and not {reference}: {reference} "
            f"{wording.inside(facts, divergence.reference)}, {odd} in {wording.waiting(facts, divergence.odd)}."
        ),
        fix="Agree on the flag once per step with an all_reduce(MAX), and let every rank act on the result.",
        locations=(
            *((facts.location(culprits or divergence.odd, first),) if first else ()),
            *facts.locations_of((*divergence.reference, *divergence.odd)),
        ),
        evidence=(
            wording.parted(divergence.odd_next, divergence.reference_next),
            *decisions.parted_by(facts, divergence),
        ),
    )
