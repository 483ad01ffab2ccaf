"""# DD204 sharded-state-on-one-rank

## What
Only one rank requests what is sharded over all of them (FSDP, ZeRO-3, DTensor): a state dict, full parameters, a
checkpoint, or the whole of a sharded value, such as a norm, by `full_tensor()`.

## Why it hangs
No rank holds the complete parameters. Requesting them is an all_gather of every shard, and the other ranks do not join
it: they are already in a barrier or in the next step.

## Example
    if rank == 0:
        state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        torch.save(state, path)

## Fix
Request the state on every rank, and write the file on one.

## When it is wrong
If rank 0 is busy writing a state that it already has in memory, no collective is in progress, and this is not reported
(DD232). A rank that left its loop earlier and saves after it is DD206; the histories distinguish the two.

## References
https://github.com/pytorch/pytorch/issues/77562 https://github.com/huggingface/accelerate/issues/2000
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SHARDED_STATE_ON_ONE_RANK
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import decisions, relative_position
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.sharded_modules import state_call
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.SHARDED_STATE):
        if divergence.odd_site:
            yield _diagnosis(facts, divergence, divergence.odd_site)


def _diagnosis(facts: Facts, divergence: Divergence, called: Site) -> Diagnosis:
    function = state_call(facts, divergence.odd_next, divergence.odd) if divergence.odd_next else ""
    site = relative_position.users_line(facts, divergence.odd, called)
    never = divergence.odd_next is not None and not relative_position.made_by(
        facts, divergence.odd_next, divergence.reference
    )
    inside = all(rank in facts.waiting and _in_call(facts, rank, called) for rank in divergence.odd)
    sure = never and divergence.unique and inside and divergence.minority
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, divergence.cap)
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    return diagnosis(
        SHARDED_STATE_ON_ONE_RANK,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=(
            f"only {odd} {wording.verb(divergence.odd, 'calls', 'call')} {function} at {wording.place(site)}; "
            f"{reference} went on to {wording.step(divergence.reference_next)}"
        ),
        why=(
            f"{function} gathers the shards of all ranks. {odd.capitalize()} {wording.inside(facts, divergence.odd)} "
            f"for it; {reference} did not reach it and {wording.inside(facts, divergence.reference)}."
        ),
        fix=f"Call {function} on every rank, and let one rank write the file.",
        locations=(facts.location(divergence.odd, site), *facts.locations_of((*divergence.reference, *divergence.odd))),
        evidence=(
            wording.parted(divergence.odd_next, divergence.reference_next),
            *decisions.parted_by(facts, divergence),
        ),
    )


def _in_call(facts: Facts, rank: int, called: Site) -> bool:
    """The rank is still in the call."""
    wait = next((w for r, w in ((r, facts.wait(r)) for r in facts.waiting) if r == rank), None)
    return wait is not None and wait.site == called
