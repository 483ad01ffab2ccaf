"""Where the histories of two sides diverge: the step from "they differ here" to "this rank left its loop"."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.histories import HistoryDiff, HistoryStep
from ddpdoctor.diagnose.digest.outcome import cap_of_histories, weaker
from ddpdoctor.diagnose.digest.sides import Comparison, HistorySplit
from ddpdoctor.diagnose.divergence import control_flow_diff, library_loops, library_paths, turns_told
from ddpdoctor.diagnose.divergence.branch_points import BranchPoint
from ddpdoctor.diagnose.divergence.call_conditions import condition_of, decided_by
from ddpdoctor.diagnose.divergence.caught_calls import caught_around
from ddpdoctor.diagnose.divergence.habits import left_own_way, left_partners
from ddpdoctor.diagnose.divergence.loop_turns import is_a_turn_behind
from ddpdoctor.diagnose.divergence.patterns import (
    Pattern,
    caught_past,
    dispatched,
    merely_behind,
    only_on_some_ranks,
    pattern_of,
    raised_past_a_call_of_most,
)
from ddpdoctor.diagnose.divergence.relative_position import made_by
from ddpdoctor.diagnose.divergence.turns_told import TurnsTold
from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two sides whose histories differ, with the pattern: `odd` did the unusual thing, `reference` is compared with."""

    pattern: Pattern
    compared: Comparison
    #: there is no other divergence
    unique: bool
    #: the highest confidence of a cause that rests on this
    cap: Confidence = Confidence.CERTAIN
    #: possible branch points in the source, with the branch that the odd ranks took; empty if the source does not tell
    branch_points: tuple[BranchPoint, ...] = ()
    #: what the turns of the loop that the odd ranks have left showed beside the histories
    turns: TurnsTold | None = None

    @property
    def odd(self) -> RankSet:
        return self.compared.odd

    @property
    def reference(self) -> RankSet:
        return self.compared.reference

    @property
    def diff(self) -> HistoryDiff:
        return self.compared.diff

    @property
    def odd_next(self) -> HistoryStep | None:
        return self.compared.odd_next

    @property
    def reference_next(self) -> HistoryStep | None:
        return self.compared.reference_next

    @property
    def minority(self) -> bool:
        """Whether the odd ranks are fewer than the others."""
        return len(self.odd) < len(self.reference)

    @property
    def tie(self) -> bool:
        """Whether both sides have equal size: counting cannot tell which is right."""
        return len(self.odd) == len(self.reference)

    @property
    def odd_site(self) -> Site | None:
        """Where the odd ranks diverged."""
        return self.odd_next.site if self.odd_next else None

    @property
    def culprits(self) -> RankSet:
        """The smaller side; if both are equal, the odd ranks."""
        return self.reference if len(self.reference) < len(self.odd) else self.odd

    def place(self, point: BranchPoint) -> Site:
        """The line of a branch point to show for the culprits: the jump that they took, or else the condition."""
        return point.place if self.culprits == self.odd else point.shown or point.site

    def blame(self, confidence: Confidence) -> Confidence:
        """The confidence that these ranks are to blame and not the others: the majority decides if there is one."""
        return confidence if self.minority else weaker(confidence, Confidence.LIKELY)

    def collectives(self) -> tuple[HistoryStep | None, HistoryStep | None]:
        """The first collective of either side after the divergence: what each waits for the other to join."""
        odd_next = next((step for step in self.diff.left if step.collective), self.odd_next)
        reference_next = next((step for step in self.diff.right if step.collective), self.reference_next)
        return odd_next, reference_next


@kept
def divergences(facts: Facts) -> tuple[Divergence, ...]:
    """One divergence for every side that differs from the largest, if it is what holds the job up."""
    return tuple(_divergences(facts))


def _divergences(facts: Facts) -> Iterator[Divergence]:
    for split in facts.splits or left_partners(facts):
        sides = split.odd | split.reference
        cap = cap_of_histories(facts.evidence, facts.outcome, facts.graph, facts.failures, (split.odd, split.reference))
        if cap is not None and not any(_joins(facts, rank) for rank in sides):
            divergence = _by_habit(facts, split, cap) or _with_branch_points(facts, _with_pattern(facts, split, cap))
            # a rank with an exception under way took no branch, even if a branch leads to the same place
            if any(one.rank in divergence.culprits and not one.victim for one in facts.masked):
                divergence = dataclasses.replace(divergence, cap=weaker(divergence.cap, Confidence.LIKELY))
            # the ranks without a history may belong to either side, and make the smaller one the larger
            if abs(len(split.odd) - len(split.reference)) <= len(facts.evidence.without_history()) > 0:
                divergence = dataclasses.replace(divergence, cap=weaker(divergence.cap, Confidence.LIKELY))
            if _others_wait_for_finished(facts, divergence.culprits):
                divergence = dataclasses.replace(divergence, cap=weaker(divergence.cap, Confidence.POSSIBLE))
            yield divergence


def _others_wait_for_finished(facts: Facts, culprits: RankSet) -> bool:
    """Whether ranks beside the culprits wait for one that has finished, so that they hang without the culprits, too."""
    finished = [one.rank for one in facts.evidence.ranks if one.exit is not None and one.exit.status == 0]
    awaited = facts.graph.targets(rank for rank in facts.waiting if rank not in culprits)
    return any(rank in awaited and rank not in culprits for rank in finished)


def _by_habit(facts: Facts, split: HistorySplit, cap: Confidence) -> Divergence | None:
    """Ranks with roles of their own: the side that no longer did what it did in the round before."""
    found = left_own_way(facts, split.compared())
    if found is None:
        return None
    compared, own = found
    pattern, points = pattern_of(facts, own), control_flow_diff.branch_points(facts, own, own.odd)
    usual, act = own.reference_next, own.odd_next
    if act is not None and act.collective and only_on_some_ranks(facts, compared, act):
        pattern = Pattern.EXTRA_CALL
    elif usual is not None and usual.kind is EventKind.CALL and not usual.collective:
        pattern = Pattern.LEFT_LOOP  # into another round it would have gone by a message
    if pattern is Pattern.UNCLEAR or not points:
        return None
    # the lines of the two sides cannot be compared, so another line of theirs may be at fault
    return Divergence(pattern, compared, split.unique, weaker(cap, Confidence.LIKELY), points)


def _with_branch_points(facts: Facts, divergence: Divergence) -> Divergence:
    divergence = _passed_by_turns(facts, divergence)
    if divergence.pattern is Pattern.EXTRA_CALL and raised_past_a_call_of_most(facts, divergence.compared):
        mirrored = divergence.compared.mirrored()
        divergence = dataclasses.replace(divergence, pattern=Pattern.SKIPPED, compared=mirrored, branch_points=())
    points = _points(facts, divergence)
    if divergence.pattern is Pattern.SKIPPED and points and all(_broken_off(facts, divergence, one) for one in points):
        divergence = dataclasses.replace(divergence, pattern=Pattern.LEFT_LOOP)
    cap = divergence.cap
    # of a library not all functions were seen, and what decides in it can lie elsewhere
    if points and points == library_paths.explained(facts, divergence.compared):
        cap = weaker(cap, Confidence.LIKELY)
    return _told_by_turns(facts, dataclasses.replace(divergence, cap=cap, branch_points=points))


def _passed_by_turns(facts: Facts, divergence: Divergence) -> Divergence:
    """A call of which the turns of the loop around show that one side is still in it, and the other is a turn further
    and has passed it over: the end of a loop that lies between is no difference then."""
    if divergence.pattern not in (Pattern.LEFT_LOOP, Pattern.UNCLEAR):
        return divergence
    for seen in (divergence.compared, divergence.compared.mirrored()):
        step = seen.odd_next
        if step is not None and step.kind is EventKind.CALL and step.collective and is_a_turn_behind(facts, seen):
            cap = weaker(divergence.cap, Confidence.LIKELY)
            return dataclasses.replace(divergence, pattern=Pattern.EXTRA_CALL, compared=seen, cap=cap)
    return divergence


def _broken_off(facts: Facts, divergence: Divergence, point: BranchPoint) -> bool:
    """Whether the odd ranks broke out of the loop over the loader, so that their next batch is one of another round of
    it: a new epoch."""
    step, jump = divergence.odd_next, point.jump
    if step is None or step.kind is not EventKind.NEXT or step.site is None or jump is None:
        return False
    loops = enclosing.enclosing_loops(facts.program, jump) if point.jump_text.startswith("break") else ()
    return bool(loops) and (jump.file, loops[0].first) == (step.site.file, step.site.line)


def _told_by_turns(facts: Facts, divergence: Divergence) -> Divergence:
    """A loop that was left, told again where the turns show whether its last one was taken."""
    if divergence.pattern is not Pattern.LEFT_LOOP:
        return divergence
    turns = turns_told.told(facts, divergence.compared, divergence.branch_points)
    if turns is None:
        return divergence
    if not turns.skipped and turns.points == divergence.branch_points:
        return dataclasses.replace(divergence, turns=turns)
    pattern = Pattern.SKIPPED if turns.skipped else Pattern.LEFT_LOOP
    cap = weaker(divergence.cap, Confidence.LIKELY)
    return dataclasses.replace(divergence, pattern=pattern, cap=cap, branch_points=turns.points, turns=turns)


def _points(facts: Facts, divergence: Divergence) -> tuple[BranchPoint, ...]:
    if divergence.branch_points:
        return divergence.branch_points
    if divergence.pattern is Pattern.SKIPPED and (caught := caught_past(facts, divergence.compared)):
        return caught
    found = control_flow_diff.branch_points(facts, divergence.compared)
    if not found and divergence.pattern is Pattern.SKIPPED:
        return caught_around(facts, divergence.compared)
    return found or _around_call(facts, divergence)


def _around_call(facts: Facts, divergence: Divergence) -> tuple[BranchPoint, ...]:
    """The conditions under which the extra call was made, where no way through the source leads to it."""
    site, odd, reference = divergence.odd_site, divergence.odd, divergence.reference
    if divergence.pattern is not Pattern.EXTRA_CALL or site is None or condition_of(facts, site, odd, reference):
        return ()
    both = divergence.odd_next is not None and made_by(facts, divergence.odd_next, reference)
    return decided_by(facts, site, odd, reference, both=both)


def _joins(facts: Facts, rank: Rank) -> bool:
    """Whether the rank is inside torch's Join, which shadows the collectives of ranks that still have data."""
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen else None
    return main is not None and any(frame.file.endswith("distributed/algorithms/join.py") for frame in main.frames)


def _with_pattern(facts: Facts, split: HistorySplit, cap: Confidence) -> Divergence:
    """The difference with its pattern, tried from either side."""
    compared = split.compared()
    for seen in (compared, compared.mirrored()):
        pattern = pattern_of(facts, seen)
        if pattern is Pattern.EXTRA_CALL and _is_awaited(facts, seen):
            return Divergence(Pattern.UNCLEAR, seen, split.unique, cap)
        if pattern is not Pattern.UNCLEAR:
            return Divergence(pattern, seen, split.unique, cap)
    # what one side makes once more, the other leaves out: the first only where nothing tells of the second
    again = next((seen for seen in (compared, compared.mirrored()) if _once_more(facts, seen)), None)
    if again is not None:
        return Divergence(Pattern.EXTRA_CALL, again, split.unique, cap)
    for seen in (compared, compared.mirrored()):
        if not merely_behind(facts, seen) and (points := library_loops.left_behind(facts, seen)):
            return Divergence(Pattern.LEFT_LOOP, seen, split.unique, weaker(cap, Confidence.LIKELY), points)
    first = _at_collectives(compared)
    if first is not None and dispatched(facts, first, first.diff.left[0], first.diff.right[0]):
        return Divergence(Pattern.ORDER, first, split.unique, cap)
    return Divergence(Pattern.UNCLEAR, compared, split.unique, cap)


def _is_awaited(facts: Facts, compared: Comparison) -> bool:
    """Whether the reference ranks wait in the very call that the odd ranks seem to have made once more, and no odd rank
    is in a collective: one made before would have met this one. Ranks with roles of their own differ in their steps."""
    act = compared.odd_next
    theirs = [facts.wait(rank) for rank in compared.reference]
    ours = [facts.wait(rank) for rank in compared.odd]
    meets = all(wait is not None and act is not None and (wait.op, wait.site) == (act.op, act.site) for wait in theirs)
    return meets and not any(wait is not None and wait.kind in COLLECTIVE for wait in ours)


def _at_collectives(compared: Comparison) -> Comparison | None:
    """The same from the first collective of each side on, where other steps come before them; None if none does."""
    left, right = (_from_collective(side) for side in (compared.diff.left, compared.diff.right))
    if not left or not right or (left, right) == (compared.diff.left, compared.diff.right):
        return None
    return dataclasses.replace(compared, diff=dataclasses.replace(compared.diff, left=left, right=right))


def _from_collective(steps: tuple[HistoryStep, ...]) -> tuple[HistoryStep, ...]:
    return tuple(itertools.dropwhile(lambda step: not step.collective, steps))


def _once_more(facts: Facts, compared: Comparison) -> bool:
    """Whether the odd ranks entered a branch of the job in which they made a whole step more."""
    if compared.odd_next is None or compared.odd_next.kind is EventKind.CALL or not compared.diff.inserted():
        return False
    points = () if merely_behind(facts, compared) else control_flow_diff.branch_points(facts, compared)
    return len(points) == 1 and points[0].enters
