"""# DD203 rank-conditional-collective

## What
Only some ranks call a collective, most often under `if rank == 0:` or inside a helper that only rank 0 calls.

## Why it hangs
A collective returns when every rank of its group has entered it. The other ranks do not reach it: they are already in
the next collective of the normal path, which in turn needs the rank that waits here.

## Example
    if step % save_every == 0 and rank == 0:
        torch.save(model.state_dict(), path)
        dist.barrier()                       # only rank 0 gets here

## Fix
Move the collective out of the condition so that every rank calls it; compute on all ranks and write on one.

## When it is wrong
A rank that left its loop early (DD206) is also in a call that the others have not reached. Source and stacks
distinguish the two; without them this is not called `certain`.

## References
https://github.com/huggingface/accelerate/issues/2690 https://github.com/Lightning-AI/pytorch-lightning/issues/18148
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import RANK_CONDITIONAL_COLLECTIVE
from ddpdoctor.diagnose.conditions import RankCondition, sentence
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import barrier_pairing, decisions, relative_position
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.offline import stacks_only
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Site

#: characters of a line that a sentence quotes
_QUOTED = 60


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.RANK_CONDITION):
        if divergence.odd_site:
            yield _diagnosis(facts, divergence, divergence.odd_site)
    alone = stacks_only.extra_call(facts) if facts.outcome is Outcome.HANG else None
    if alone is not None:
        yield _by_standing(facts, alone)


def _by_standing(facts: Facts, extra: stacks_only.Extra) -> Diagnosis:
    """From stacks and source alone: what the ranks did before is not known, so it is at most likely."""
    odd, reference = wording.ranks(extra.odd), wording.ranks(extra.reference)
    blamed = Confidence.POSSIBLE if len(extra.odd) == len(extra.reference) else Confidence.LIKELY
    condition = extra.condition
    return diagnosis(
        RANK_CONDITIONAL_COLLECTIVE,
        facts.waiting,
        confidence=Confidence.LIKELY,
        blame=blamed,
        culprits=extra.culprits,
        summary=(
            f"only {odd} can reach {extra.op} at {wording.place(extra.site)}; "
            f"{reference} {wording.now(facts, extra.reference)}"
        ),
        why=(
            f"Every rank of a group must enter the same collectives in the same order. {odd.capitalize()} "
            f"{wording.verb(extra.odd, 'is', 'are')} in one that is reached only past a condition on the rank."
        ),
        fix=_fix(facts, extra.op, extra.site, condition),
        locations=(facts.location(extra.odd, extra.site), *facts.locations_of(extra.reference)),
        evidence=(
            f"{wording.place(condition.place)} is reached only past `{condition.span.text}`",
            *filter(None, (sentence(condition.test, condition.dependence),)),
            f"{reference} {wording.verb(extra.reference, 'is', 'are')} past no such condition",
        ),
    )


def _diagnosis(facts: Facts, divergence: Divergence, called: Site) -> Diagnosis:
    site = relative_position.users_line(facts, divergence.odd, called)
    never = divergence.odd_next is not None and not relative_position.made_by(
        facts, divergence.odd_next, divergence.reference
    )
    condition = decisions.condition_on_rank(facts, divergence)
    # A barrier paired with a later one is a separate diagnosis (DD212), and so is a condition on data (DD206).
    met = barrier_pairing.may_have_met_another(facts, divergence)
    sure = never and divergence.unique and condition is not None and not met
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, divergence.cap)
    op = divergence.odd_next.op if divergence.odd_next else "a collective"
    odd = wording.ranks(divergence.odd)
    return diagnosis(
        RANK_CONDITIONAL_COLLECTIVE,
        facts.waiting,
        confidence=confidence,
        blame=confidence if not divergence.tie or never else Confidence.LIKELY,
        culprits=divergence.culprits,
        summary=_summary(divergence, op, site),
        why=(
            f"Every rank of a group must enter the same collectives in the same order. {odd.capitalize()} entered {op} "
            f"at {wording.place(site)}, which {wording.ranks(divergence.reference)} did not; "
            f"{wording.verb(divergence.reference, 'it', 'they')} {wording.now(facts, divergence.reference)}."
        ),
        fix=_out_of_block(facts, divergence, op, site) or _fix(facts, op, site, condition),
        locations=(facts.location(divergence.odd, site), *facts.locations_of((*divergence.reference, *divergence.odd))),
        evidence=(*_evidence(facts, divergence, op, site, condition), *decisions.parted_by(facts, divergence)),
    )


def _summary(divergence: Divergence, op: str, site: Site) -> str:
    odd, reference, following = (
        wording.ranks(divergence.odd),
        wording.ranks(divergence.reference),
        divergence.reference_next,
    )
    if following is not None and (following.op, following.site) == (op, divergence.odd_site):
        return f"{odd} called {op} at {wording.place(site)} once more than {reference}"
    return (
        f"only {odd} {wording.verb(divergence.odd, 'calls', 'call')} {op} at {wording.place(site)}; "
        f"{reference} went on to {wording.step(following)}"
    )


def _out_of_block(facts: Facts, divergence: Divergence, op: str, site: Site) -> str:
    head = relative_position.awaited_block(facts, divergence.reference_next, divergence.odd_next)
    if head is None:
        return ""
    return (
        f"Move {_in_the_source(facts, op, site)} out of the block `{facts.statement(head)}` ({wording.place(head)}): "
        "ranks enter it one after the other, and all are needed in the call at once."
    )


def _fix(facts: Facts, op: str, site: Site, condition: RankCondition | None) -> str:
    if condition and facts.is_library(condition.place.file):
        # the wrapper of a decorator: what is to be changed is what it is put around
        line = wording.place(replace(condition.place, line=condition.span.first))
        return (
            f"Let all ranks run `{site.function.rpartition('.')[2]}` ({wording.place(site)}), which communicates: a "
            f"wrapper around it lets only some, by `{condition.span.text}` ({line})."
        )
    if condition:
        line = wording.place(replace(condition.place, line=condition.span.first))
        call = _in_the_source(facts, op, condition.place)
        return f"Move {call} out of `{condition.span.text}` ({line}) so that all ranks call it."
    call = _in_the_source(facts, op, site)
    return f"Call {call} on every rank of the group, or on none; write files on one rank, communicate on all."


def _in_the_source(facts: Facts, op: str, site: Site) -> str:
    """What the reader finds on the line: the operation, or the call of a helper or a library that issues it."""
    text = facts.statement(site)
    return op if op in text or not 0 < len(text) <= _QUOTED else f"`{text}`"


def _evidence(
    facts: Facts, divergence: Divergence, op: str, site: Site, condition: RankCondition | None
) -> Iterator[str]:
    where = wording.place(site)
    reference = wording.ranks(divergence.reference)
    histories = [facts.histories[rank] for rank in divergence.reference if rank in facts.histories]
    if not any(step.kind is EventKind.CALL and step.site == site for history in histories for step in history.steps):
        yield f"{reference} never made a call at {where}; {wording.ranks(divergence.odd)} did"
    else:
        yield f"{wording.ranks(divergence.odd)} made one more {op} at {where} than {reference}"
    yield (
        f"the histories diverge there: {wording.step(divergence.odd_next)} against "
        f"{wording.step(divergence.reference_next)}"
    )
    if condition:
        past = f"`{condition.span.text}` (line {condition.span.first})"
        told = sentence(condition.test, condition.dependence)
        yield f"{wording.place(condition.place)} is reached only past {past}{told and f': {told}'}"
