"""# DD205 one-rank-forward-through-ddp

## What
One rank runs a forward through the DDP or FSDP wrapper that the others do not run, usually to evaluate on rank 0.

## Why it hangs
DDP's forward first broadcasts the module's buffers (BatchNorm statistics) to all ranks; FSDP's forward gathers the
parameters from them. The other ranks are not in a forward but in the next collective of their own path, and both sides
wait.

## Example
    if rank == 0:
        model.eval()
        accuracy = evaluate(model, held_out)     # model is the DDP wrapper
    dist.barrier()

## Fix
Evaluate through the wrapped module (`model.module(x)`, DDP only), or evaluate on all ranks and reduce the result.

## When it is wrong
Without buffers, such a forward communicates nothing and is harmless; then nothing is reported.

## References
https://github.com/pytorch/pytorch/issues/54059 https://github.com/pytorch/pytorch/issues/72897
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import ONE_RANK_FORWARD_THROUGH_DDP
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import call_conditions, decisions, relative_position
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.FORWARD_ALONE):
        if divergence.odd_site:
            yield _diagnosis(facts, divergence, divergence.odd_site)


def _diagnosis(facts: Facts, divergence: Divergence, called: Site) -> Diagnosis:
    condition = call_conditions.condition_of(facts, called, divergence.odd, divergence.reference)
    sure = divergence.unique and (condition is not None or len(divergence.branch_points) == 1)
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, divergence.cap)
    site = relative_position.users_line(facts, divergence.odd, called)
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    shards = divergence.odd_next is not None and not divergence.odd_next.op.startswith("broadcast")
    what = "gathers the sharded parameters" if shards else "broadcasts buffers"
    evidence = [
        f"{reference} never ran a forward at {wording.place(called)}; {odd} did",
        f"that forward {what}: {wording.waiting(facts, divergence.odd)}",
    ]
    evidence.extend(decisions.parted_by(facts, divergence))
    return diagnosis(
        ONE_RANK_FORWARD_THROUGH_DDP,
        facts.waiting,
        confidence=confidence,
        culprits=divergence.culprits,
        summary=(
            f"only {odd} {wording.verb(divergence.odd, 'runs', 'run')} a forward through the wrapped model at "
            f"{wording.place(site)}; {reference} {wording.verb(divergence.reference, 'is', 'are')} in "
            f"{wording.waiting(facts, divergence.reference)}"
        ),
        why=(
            f"The wrapper's forward {what} {'from' if shards else 'to'} all ranks. {odd.capitalize()} "
            f"{wording.verb(divergence.odd, 'waits', 'wait')} for ranks that run no forward here; {reference} "
            f"{wording.verb(divergence.reference, 'waits', 'wait')} for {odd} in another operation."
        ),
        fix=(
            "Evaluate on every rank."
            if shards
            else "Evaluate through the module inside the wrapper (`model.module(x)`), or on every rank."
        ),
        locations=(facts.location(divergence.odd, site), *facts.locations_of((*divergence.reference, *divergence.odd))),
        evidence=tuple(evidence),
    )
