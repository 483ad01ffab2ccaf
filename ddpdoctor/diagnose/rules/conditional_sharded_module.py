"""# DD210 conditional-sharded-module

## What
A module that communicates in its forward (an FSDP or ZeRO-3 shard, a layer such as SyncBatchNorm) ran on some ranks
only: an expert without rows, a batch without images, a generation that ended earlier.

## Why it hangs
To run a sharded module, all ranks gather its parameters. A rank that skips the module gathers the next module's
parameters instead, and from then on the ranks are in collectives of different modules.

## Example
    for number, expert in enumerate(self.experts):       # each one sharded
        if (chosen == number).any():
            mixed[chosen == number] = expert(rows[chosen == number])

## Fix
Run the module on every rank: with a dummy row whose result is multiplied by zero, with `synced_gpus=True` for
generation, or with `set_z3_leaf_modules` for experts under ZeRO-3.

## When it is wrong
A forward that only one rank begins at all is DD205; a collective under a condition on the rank is DD203. Without source
and stacks, nothing shows that a module issued the call, and this diagnosis is not made. It is at most `likely`.

## References
https://github.com/deepspeedai/DeepSpeed/issues/5066 https://github.com/pytorch/pytorch/issues/44957
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import CONDITIONAL_SHARDED_MODULE
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import decisions, relative_position
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.sharded_modules import ModuleCall, implicit, module_call, parting
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.stacks import Site

_SAME_MODULES = "Run the same modules on every rank: feed an unused one a dummy row and multiply its result by zero."
_AS_OFTEN = (
    "Run as many forwards on every rank: agree on the end of the loop with an all_reduce(MAX) of a flag, as "
    "`generate(..., synced_gpus=True)` does, and drop what a rank makes too much."
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.SHARDED_MODULE):
        found = module_call(facts, divergence)
        if found and found.call.site:
            yield _diagnosis(facts, divergence, found, found.call.site)


def _diagnosis(facts: Facts, divergence: Divergence, found: ModuleCall, called: Site) -> Diagnosis:
    call, passed, ran, left_out = found.call, found.passed, found.ran, found.left_out
    site = relative_position.users_line(facts, ran, called)
    confidence = weaker(Confidence.LIKELY, divergence.cap)
    culprits = left_out if divergence.tie else divergence.culprits
    what = "the sharded module that is called" if implicit(facts, call) else f"the {call.op}"
    ours, theirs = wording.ranks(ran), wording.ranks(left_out)
    parted = parting(facts, divergence)
    left = parted is not None and parted.left_loop
    early = f"left the loop at {wording.place(parted.site)} and " if parted is not None and left else ""
    return diagnosis(
        CONDITIONAL_SHARDED_MODULE,
        facts.waiting,
        confidence=confidence,
        blame=Confidence.POSSIBLE if divergence.tie else divergence.blame(confidence),
        culprits=culprits,
        summary=f"{theirs} {early}did not reach {what} at {wording.place(site)}, {ours} did",
        why=(
            f"The forward issues {call.op} at {wording.place(site)}, and every rank must take part. "
            f"{theirs.capitalize()} went on to {wording.step(passed)} instead, so all later operations are paired "
            f"with the wrong ones: {theirs} {wording.inside(facts, left_out)}, {ours} in "
            f"{wording.waiting(facts, ran)}."
        ),
        fix=_AS_OFTEN if left else _SAME_MODULES,
        locations=(
            *((facts.location(culprits or left_out, parted.site),) if parted is not None else ()),
            facts.location(culprits or left_out, site),
            *facts.locations_of((*left_out, *ran)),
        ),
        evidence=(
            wording.parted(call, passed),
            *decisions.parted_by(facts, divergence),
        ),
    )
