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
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import patterns
from ddpdoctor.diagnose.divergence.causes import Special, signal_choice, told_by
from ddpdoctor.diagnose.divergence.patterns import Story
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for story, _ in told_by(facts, Special.SIGNAL):
        yield _diagnosis(facts, story)


def _diagnosis(facts: Facts, story: Story) -> Diagnosis:
    found = signal_choice(facts, story)
    confidence = weaker(Confidence.LIKELY, story.cap)
    flag, handler = found[1:] if found else ("", "")
    first = story.place(found[0]) if found else None
    # with as many on either side it is still those that were signalled who went another way
    culprits = story.culprits
    actors, others = wording.ranks(story.actors), wording.ranks(story.others)
    return Diagnosis(
        SIGNAL_ON_SOME_RANKS.code,
        SIGNAL_ON_SOME_RANKS.name,
        confidence,
        Confidence.POSSIBLE if story.tie else story.blame(confidence),
        culprits,
        facts.waiting - culprits,
        f"{actors} went to {wording.step(story.act)} at the sign of a signal, {others} went on to "
        f"{wording.step(story.instead)}",
        f"`{flag}` is set by {handler}, which handles a signal. It reached {actors} and not {others}: {others} "
        f"{wording.verb(story.others, 'is', 'are')} in {wording.waiting(facts, story.others)}, {actors} in "
        f"{wording.waiting(facts, story.actors)}.",
        "Agree on the flag once a step with an all_reduce(MAX), and let every rank act on the result.",
        (
            *((facts.location(culprits or story.actors, first),) if first else ()),
            *facts.standing_locations((*story.others, *story.actors)),
        ),
        (
            f"the histories part: {wording.step(story.act)} against {wording.step(story.instead)}",
            *patterns.parted_by(facts, story),
        ),
    )
