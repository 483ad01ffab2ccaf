"""# DD299 undecided

## What
The job hangs, and the evidence does not decide which of several causes it is, or which rank is to blame.

## Why it hangs
Ranks wait for each other, or for a rank that is blocked for a reason that no rule knows. Two ranks have no majority:
either may have missed the other's call.

## Example
    learner: dist.barrier(); dist.broadcast(weights, src=0)
    actor:   dist.broadcast(weights, src=0)            # which of the two is wrong?

## Fix
Read both explanations below; each names the line to check.

## When it is wrong
It makes no claim. With the sources that the report lists under `blind`, a diagnosis might be possible. Where the places
of the ranks speak for one cause, its code is shown in place of this one, as `possible`.

## References
https://pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import store_keys
from ddpdoctor.diagnose.blocked.needs import details, keys, owed, what_for
from ddpdoctor.diagnose.codes import UNDECIDED
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.digest.rank_state import Activity, wait_label
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.divergence import decisions, relative_position
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.divergences import Divergence, divergences
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.offline import reported_missing, round_counters
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is Outcome.CRASH:
        yield from _lost(facts)
        return
    if not facts.waiting and not facts.blockers:
        return
    # which of two sides is odd depends on all ranks
    divergence = None if facts.evidence.unseen() else next(iter(divergences(facts)), None)
    blockers = RankSet.of(rank for rank in facts.blockers if facts.state(rank).activity is not Activity.WORKING)
    if divergence is not None:
        yield _two_stories(facts, divergence)
    elif missing := reported_missing.named(facts):
        yield reported_missing.of_missing(UNDECIDED, facts, missing)
    elif blockers and not _unrelated(facts, blockers):
        yield _still(facts, blockers)
    elif facts.waiting:
        yield _by_waits(facts)


def _unrelated(facts: Facts, blockers: RankSet) -> bool:
    """Logs name groups without known members, and ranks of which nothing is known.

    Nothing shows whether the first wait for the second.
    """
    waiting = [facts.rank(rank) for rank in facts.waiting]
    vague = bool(waiting) and all(r.stacks is None and r.recorder is None and r.page is None for r in waiting)
    told = any(wait.targets or wait.op == "init_process_group" for wait in facts.graph.all_waits())
    return vague and not told and all(facts.state(rank).activity is Activity.UNKNOWN for rank in blockers)


def _lost(facts: Facts) -> Iterator[Diagnosis]:
    """Ranks failed because they lost others, and nothing is known about these."""
    failed = RankSet.of(failure.rank for failure in facts.failures)
    unseen = facts.evidence.unseen()
    if not failed:
        return
    missing = f"; nothing is known about {wording.ranks(unseen)}" if unseen else ""
    yield diagnosis(
        UNDECIDED,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        summary=f"{wording.ranks(failed)} {wording.verb(failed, 'was', 'were')} ended or lost a peer{missing}",
        why=(
            "Only consequences were seen: a lost connection, or the launcher's signal after another rank had failed. "
            "The first failure itself left no trace that could be read."
        ),
        fix=(
            "Read the output of the ranks that are not seen here, or run the job again: the next inspection may be in "
            "time."
        ),
        locations=facts.locations_of(failed),
        evidence=tuple(
            f"rank {f.rank}: {f.raised.type if f.raised else f'exit status {f.status}'}" for f in facts.failures
        ),
    )


@dataclass(frozen=True, slots=True)
class _Stories:
    """Two explanations of a divergence, in words."""

    summary: str
    meaning: str
    one: str
    other: str
    advice: str
    #: what is shown before where the ranks stand
    places: tuple[Site, ...] = ()
    #: whichever it was, the odd ranks did it
    theirs: bool = True


def _two_stories(facts: Facts, divergence: Divergence) -> Diagnosis:
    told = _stories(facts, divergence)
    culprits = divergence.culprits if told.theirs or not divergence.tie else RankSet()
    sides = (divergence.odd, divergence.reference)
    reached = [
        f"{wording.ranks(relative_position.those_that_did(facts, step, side))} {before}{wording.step(step)}"
        for step, side, before in zip(divergence.collectives(), sides, ("reached ", ""), strict=True)
    ]
    return diagnosis(
        UNDECIDED,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        blame=divergence.blame(weaker(Confidence.LIKELY, divergence.cap)) if told.theirs else Confidence.POSSIBLE,
        culprits=culprits,
        summary=told.summary,
        why=f"The ranks' histories diverge: {', '.join(reached)}. {told.meaning}",
        fix=told.advice,
        locations=(
            *(facts.location(culprits, place) for place in told.places if culprits),
            *facts.locations_of((*divergence.odd, *divergence.reference)),
        ),
        evidence=(
            f"one explanation: {told.one}",
            f"the other: {told.other}",
            *decisions.parted_by(facts, divergence),
        ),
    )


def _stories(facts: Facts, divergence: Divergence) -> _Stories:
    if decisions.perhaps_an_exception(divergence):
        return _skipped(divergence)
    handler = decisions.perhaps_caught_in_loop(facts, divergence)
    return _either_missed(facts, divergence) if handler is None else _ended_or_caught(divergence, handler)


def _skipped(divergence: Divergence) -> _Stories:
    """A condition and a handler lead past what the odd ranks skipped."""
    odd, skipped = wording.ranks(divergence.odd), wording.step(divergence.reference_next)
    left_out = wording.step(divergence.collectives()[1])
    return _Stories(
        summary=(
            f"{odd} skipped {skipped}: the evidence does not show whether because of a condition or because of a "
            "caught exception"
        ),
        meaning=f"More than one path leads past what {odd} skipped.",
        one=f"{odd} skipped {left_out} because of its own condition (DD207)",
        other=f"an exception on {odd} was caught (DD208)",
        advice="Check each path past it below: no path may be taken on one rank only.",
        places=tuple(divergence.place(point) for point in divergence.branch_points),
    )


def _ended_or_caught(divergence: Divergence, handler: Site) -> _Stories:
    """The odd ranks came first to the end of a loop, in which a handler leads past a turn."""
    odd, caught, loop = wording.ranks(divergence.odd), wording.place(handler), divergence.branch_points[0]
    return _Stories(
        summary=(
            f"{odd} came first to the end of the loop at {wording.place(loop.site)}: the evidence does not show "
            "whether by data that ended or by an exception that was caught in a turn"
        ),
        meaning=f"Nothing counts the turns of the loop, and only the handler at {caught} leads past one.",
        one=f"what {odd} raised in a turn of the loop was caught at {caught} (DD208)",
        other=f"the data of {odd} ended first (DD201)",
        advice=(
            f"Look whether {caught} caught something on {odd}: no handler may leave out what the other ranks do. If it "
            "did not, give all ranks equally many batches."
        ),
        places=(handler, divergence.place(loop)),
    )


def _either_missed(facts: Facts, divergence: Divergence) -> _Stories:
    """Each side may have missed what the other does."""
    sides = [wording.ranks(side) for side in (divergence.odd, divergence.reference)]
    waits = [wording.waiting(facts, side) for side in (divergence.odd, divergence.reference)]
    ours, theirs = (wording.step(step) for step in divergence.collectives())
    one, other = f"{sides[0]} missed {theirs}", f"{sides[1]} missed {ours}"
    left = divergence.pattern is Pattern.LEFT_LOOP
    if left and {BranchKind.DATA, BranchKind.CONDITION} <= {point.kind for point in divergence.branch_points}:
        one, other = f"the data of {sides[0]} ended first (DD201)", f"{sides[0]} decided on its own to stop (DD206)"
    return _Stories(
        summary=f"{sides[0]} in {waits[0]}, {sides[1]} in {waits[1]}: the evidence does not show which is wrong",
        meaning=_meaning(divergence),
        one=one,
        other=other,
        advice=f"Check both places: either {sides[0]} must also reach {theirs}, or {sides[1]} {ours}.",
        # a tie shows both sides alike
        places=tuple(divergence.place(point) for point in divergence.branch_points if left and not divergence.tie),
        theirs=False,
    )


def _meaning(divergence: Divergence) -> str:
    if divergence.pattern is Pattern.LEFT_LOOP:
        return f"{wording.ranks(divergence.odd).capitalize()} left the loop first: {_reasons(divergence)}."
    if divergence.pattern is Pattern.NO_SYNC:
        return f"{wording.ranks(divergence.odd).capitalize()} ran the step under no_sync and reduced no gradients."
    return "Nothing else in their histories or their source shows which of them is right."


def _reasons(divergence: Divergence) -> str:
    """Possible reasons why a loop was left first, as far as the source allows them."""
    kinds = {point.kind for point in divergence.branch_points}
    reasons = []
    if not kinds or kinds & {BranchKind.DATA, BranchKind.COUNT}:
        if divergence.turns is None or not divergence.turns.took_it:
            reasons.append("its data ended (DD201)")
        reasons.append("a batch was skipped before, because of a condition (DD207) or a caught exception (DD208)")
    if not kinds or BranchKind.CONDITION in kinds:
        reasons.append("it decided on its own to stop (DD206)")
    if BranchKind.EXCEPTION in kinds:
        reasons.append("an exception was caught outside it (DD208)")
    return "; or ".join(reasons)


def _still(facts: Facts, blockers: RankSet) -> Diagnosis:
    who = wording.ranks(blockers)
    doing = f"{wording.verb(blockers, 'is', 'are')} {wording.standing(facts, blockers)}"
    verb = wording.verb(facts.waiting, "waits", "wait")
    summary = f"{wording.ranks(facts.waiting)} {verb} for {who}, which {doing}" if facts.waiting else f"{who} {doing}"
    unclear = all(facts.state(rank).activity is Activity.UNKNOWN for rank in blockers)
    seen = [facts.evidence.rank(rank) for rank in blockers]
    one_look = unclear or not any(rank and rank.motion for rank in seen)
    moved = (
        "A single sample does not show whether it changes." if one_look else "It did not change between two samples."
    )
    return diagnosis(
        UNDECIDED,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        blame=Confidence.LIKELY if len(blockers) <= len(facts.waiting) and not unclear else Confidence.POSSIBLE,
        culprits=blockers,
        summary=summary,
        why=f"{who.capitalize()}: {moved} {what_for(facts, blockers)} It may still arrive.{keys(facts)}",
        fix="Check the line where it is, and what that call needs to return.",
        locations=(*facts.locations_of(blockers), *facts.locations_of(facts.waiting)),
        evidence=tuple(f"rank {rank}: {'; '.join(details(facts, rank))}" for rank in blockers),
    )


def _by_waits(facts: Facts) -> Diagnosis:
    """The histories show nothing: list where all ranks wait, and for which ranks."""
    keyed = _bykeys(facts)
    if keyed is not None:
        return keyed
    classes = _classes(facts)
    smallest = classes[-1]
    placed = all(facts.stack(rank) or facts.rank(rank).recorder or facts.rank(rank).page for rank in facts.waiting)
    unseen = facts.evidence.unseen()
    odd = placed and len(classes) == 2 and len(smallest) < len(classes[0]) and not unseen
    rest = facts.waiting - smallest if odd else facts.waiting
    places = [f"{wording.ranks(members)} in {wording.waiting(facts, members)}" for members in classes]
    shown = ", ".join(places[:3]) + (", and others elsewhere" if len(places) > 3 else "")
    waits = [wait for wait in facts.graph.all_waits() if wait.targets]
    return diagnosis(
        UNDECIDED,
        rest,
        confidence=Confidence.POSSIBLE,
        culprits=smallest if odd else RankSet(),
        summary=(
            f"{shown}; nothing is known about {wording.ranks(unseen)}"
            if unseen
            else f"{shown}: the evidence does not show why"
        ),
        why=(
            _why(facts, classes, waits)
            if placed
            else "Logs alone do not show whether these wait for each other or for others."
        ),
        fix=(
            "Run `ddpdoctor watch` on every node of the job, and pass the files from all of them to `ddpdoctor "
            "diagnose`."
            if unseen
            else "Compare these places; the report lists what could not be read, and how to make it readable."
        ),
        locations=(*facts.locations_of(smallest if odd else ()), *facts.locations_of(rest)),
        evidence=(
            *(f"rank {wait.rank} waits in {wait.op} for {wording.ranks(wait.targets)}" for wait in waits),
            *(counter.in_words() for counter in round_counters.differing(facts)),
        ),
    )


def _bykeys(facts: Facts) -> Diagnosis | None:
    """Ranks wait for a key of the store: which key, and which rank should have set it, if the source shows it."""
    waits = [wait for wait in facts.graph.all_waits() if wait.key]
    if not waits:
        return None
    held = RankSet.of(wait.rank for wait in waits)
    wait = waits[0]
    found = store_keys.setters(facts, wait.key)
    owing = RankSet.of(setter.rank for setter in found if setter.rank is not None) - held
    culprits = owing if len(found) == 1 else RankSet()
    keys = sorted({wait.key for wait in waits})
    shown = ", ".join(f"'{key}'" for key in keys[:3]) + (" and others" if len(keys) > 3 else "")
    return diagnosis(
        UNDECIDED,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        culprits=culprits,
        summary=(
            f"{wording.ranks(held)} {wording.verb(held, 'waits', 'wait')} in {wait.op} for the store's key {shown}, "
            "which no rank has set"
        ),
        why=f"{owed(facts, wait.key, found, culprits)} What the other ranks wait for is listed below.",
        fix="Set the key on every path that leads to the wait, or give the wait its own timeout.",
        locations=(
            *facts.locations_of(held),
            *(facts.location(culprits, setter.site) for setter in found),
            *facts.locations_of(RankSet.of(range(facts.evidence.world_size)) - held),
        ),
        evidence=tuple(f"rank {rank}: {state.label}" for rank, state in sorted(facts.states.items())),
    )


def _classes(facts: Facts) -> list[RankSet]:
    """Waiting ranks by what they wait in, the largest class first."""
    found: dict[tuple[object, ...], list[Rank]] = {}
    waits = [wait for rank in facts.waiting if (wait := facts.wait(rank))]
    named = {wait.seq: wait for wait in waits if wait.op}
    for wait in waits:
        same = wait if wait.op else named.get(wait.seq, wait)  # for some ranks a log gives only the number
        found.setdefault((same.op, same.group, same.seq, same.peer, same.site), []).append(wait.rank)
    return sorted((RankSet.of(members) for members in found.values()), key=lambda c: (-len(c), c.members))


def _why(facts: Facts, classes: list[RankSet], waits: list[Wait]) -> str:
    if not waits and any(wait.op in ("recv", "send") for wait in facts.graph.all_waits()):
        return "Some wait for the other side of a send or a recv, and nothing shows which rank that is."
    unseen = facts.evidence.unseen()
    if unseen:
        does, it = wording.verb(unseen, "does", "do"), wording.verb(unseen, "it is", "they are")
        said = f"What {wording.ranks(unseen)} {does} is not known: {it} on other nodes, or left no evidence. "
        return f"{said}The waiting ranks may only be waiting for that."
    if len(classes) == 1 and not waits:
        return (
            "All ranks have entered the same operation and none is missing: the ranks agree; the "
            "transport, or something that was not seen, fails."
        )
    cycle = next(((a, b) for a in waits for b in waits if b.rank in a.needs and a.rank in b.needs), None)
    if cycle:
        first, second = cycle
        return (
            f"Rank {first.rank} waits in {wait_label(first)} for rank {second.rank}, which waits in "
            f"{wait_label(second)} for rank {first.rank}. Their recorded calls do not show which of them is wrong: "
            "a call that the history does not contain, an unused branch of the model (DD209) or history that was lost."
        )
    return "They wait for each other in operations that do not belong together, and nothing shows how they diverged."
