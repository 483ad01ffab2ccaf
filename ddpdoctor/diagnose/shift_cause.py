"""Why ranks that still move have shifted against each other: their histories are read as those of ranks that stand.

A shift is the first half of a hang. The steps in which the ranks parted are in their histories already, so the causes,
the branch points and the lines are those that the hang will have. What ranks did after their parting pairs by chance
and is left out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.diagnose.digest.histories import History, HistoryDiff, HistoryStep
from ddpdoctor.diagnose.digest.sides import HistorySplit
from ddpdoctor.diagnose.divergence import control_flow_diff
from ddpdoctor.diagnose.divergence.causes import Cause, classified
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts, digest
from ddpdoctor.diagnose.registry import RULES
from ddpdoctor.model.diagnosis import Diagnosis, Location, Outcome
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import Counters, Event, EventKind
from ddpdoctor.model.ranks import Rank, RankSet


class Way(NamedTuple):
    """From when to when a rank's history shows how it parted, and nothing that came of it: CLOCK_MONOTONIC seconds."""

    begin: float
    end: float


_BY_RULE = {registered.rule: registered for registered in RULES}


@dataclass(frozen=True, slots=True)
class ShiftCause:
    """What made ranks shift, as far as their histories and the source tell."""

    #: `codes.UNDECIDED` where several causes are possible
    rule: Rule
    #: the lines at which the ranks can have parted
    locations: tuple[Location, ...]
    #: one sentence for each possible branch point
    sentences: tuple[str, ...]
    #: what to change, "" if the cause is not decided
    fix: str = ""


def find(evidence: Evidence, shifted: RankSet, ways: Mapping[Rank, Way]) -> ShiftCause | None:
    """The cause of a shift of these ranks; None if their histories do not differ in it, or no line is known.

    `ways` holds the ranks that are compared.
    """
    ranks = tuple(_until(seen, ways[seen.rank].end) for seen in evidence.ranks if seen.rank in ways)
    facts = replace(digest(replace(evidence, ranks=ranks)), outcome=Outcome.HANG)
    if not any(shifted in (split.odd, split.reference) for split in facts.splits):
        facts = replace(facts, splits=_on_their_ways(facts, shifted, ways))
    for divergence, cause in classified(facts):
        if shifted in (divergence.odd, divergence.reference):
            return _decided(facts, divergence, cause, shifted) or _undecided(facts, divergence, shifted)
    return None


def _on_their_ways(facts: Facts, shifted: RankSet, ways: Mapping[Rank, Way]) -> tuple[HistorySplit, ...]:
    """The split at the first step that differs, whether collectives do or not: a micro-batch that is left out has
    none."""
    rest = RankSet.of(rank for rank in ways if rank in facts.histories) - shifted
    if not rest or not all(rank in facts.histories for rank in shifted):
        return ()
    pair = shifted.members[0], rest.members[0]
    mine, theirs = (_steps_since(ways[rank].begin, facts.histories[rank]) for rank in pair)
    same = sum(1 for _ in itertools.takewhile(lambda both: both[0] == both[1], zip(mine, theirs, strict=False)))
    if not same or same == len(mine):
        return ()
    diff = HistoryDiff(mine[same - 1], tuple(mine[same:]), tuple(theirs[same:]), rejoined=False)
    return (HistorySplit(shifted, rest, (diff,), pair, minority=len(shifted) < len(rest)),)


def _steps_since(begin: float, history: History) -> list[HistoryStep]:
    return [step for step, time in zip(history.steps, history.times, strict=True) if time >= begin]


def _until(seen: RankEvidence, end: float) -> RankEvidence:
    if seen.page is None:
        return seen
    events = seen.page.events
    earlier, later = (tuple(e for e in events if (e.time > end) is after) for after in (False, True))
    return replace(
        seen, page=replace(seen.page, events=earlier, counters=_without(seen.page.counters, later), calls=())
    )


def _without(counters: Counters, later: tuple[Event, ...]) -> Counters:
    """The counters as they were before these events."""
    made = Counter(event.kind for event in later)
    at = Counter((event.kind, event.site) for event in later)
    entered = counters.backward_entered - made[EventKind.BACKWARD]
    return Counters(
        tuple(
            replace(
                loader,
                delivered=loader.delivered - at[EventKind.NEXT, loader.site],
                stops=loader.stops - at[EventKind.STOP_ITERATION, loader.site],
            )
            for loader in counters.loaders
        ),
        counters.forwards - made[EventKind.FORWARD],
        counters.forwards_no_sync - made[EventKind.FORWARD_NO_SYNC],
        entered,
        min(entered, counters.backward_left),
        counters.optimizer_steps - made[EventKind.OPTIMIZER_STEP],
    )


def _decided(facts: Facts, divergence: Divergence, cause: Cause | None, shifted: RankSet) -> ShiftCause | None:
    for diagnosis in _of(facts, cause):
        if diagnosis.culprits == divergence.culprits and diagnosis.locations:
            first = replace(diagnosis.locations[0], ranks=shifted)
            return ShiftCause(_rule(cause), (first,), _sentences(divergence), diagnosis.fix)
    return None


def _of(facts: Facts, cause: Cause | None) -> Iterator[Diagnosis]:
    return _BY_RULE[cause.value].diagnose(facts) if cause is not None else iter(())


def _rule(cause: Cause | None) -> Rule:
    return codes.UNDECIDED if cause is None else cause.value


def _undecided(facts: Facts, divergence: Divergence, shifted: RankSet) -> ShiftCause | None:
    places = dict.fromkeys(divergence.place(point) for point in divergence.branch_points)
    if not places:
        return None
    locations = tuple(facts.location(shifted, place) for place in places)
    return ShiftCause(codes.UNDECIDED, locations, _sentences(divergence))


def _sentences(divergence: Divergence) -> tuple[str, ...]:
    return tuple(control_flow_diff.sentences(divergence.branch_points, divergence.odd, divergence.reference))
