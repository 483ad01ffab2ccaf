"""Naming the way in which two histories parted: the step from "they differ here" to "this rank left its loop"."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.failure import ABORTED
from ddpdoctor.diagnose.digest.histories import Parting, Step
from ddpdoctor.diagnose.digest.outcome import cap_of_histories, weaker
from ddpdoctor.diagnose.digest.sides import Divergence
from ddpdoctor.diagnose.divergence import control_flow_diff
from ddpdoctor.diagnose.divergence.branch_points import Choice, Kind
from ddpdoctor.diagnose.divergence.call_conditions import both_ways, by_element, condition_of
from ddpdoctor.diagnose.divergence.relative_position import Whereabouts, left_loop, made_by, ran_module, shares_loop
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.source_reading import source
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site

_ITERATION = frozenset({EventKind.NEXT, EventKind.FORWARD, EventKind.FORWARD_NO_SYNC, EventKind.BACKWARD})
_NEW_ROUND = frozenset({EventKind.NEXT, EventKind.STOP_ITERATION, EventKind.FORWARD})


class Shape(Enum):
    #: the actors' iterator ended where the others' delivered another batch
    ENDED_EARLY = "ended early"
    #: the actors went on behind the loop, without their iterator's end
    LEFT_LOOP = "left the loop"
    #: the actors began another round without what the others did in this one
    SKIPPED = "skipped"
    #: the actors issued a collective that the others did not
    EXTRA_CALL = "extra call"
    #: both issue the same kinds of calls in another order
    ORDER = "order"
    #: the actors ran a forward through the wrapper that the others did not; it synchronises buffers
    EXTRA_FORWARD = "extra forward"
    #: the actors ran the step under no_sync
    NO_SYNC = "no_sync"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Story:
    """A divergence with a name: the actors did the odd thing, the others are compared with."""

    shape: Shape
    actors: RankSet
    others: RankSet
    #: left is the actors' side
    parting: Parting
    #: nothing else parted
    unique: bool
    #: the actors are fewer than the others
    minority: bool
    #: source, not only the order of calls, tells this shape from its neighbours
    source_agrees: bool = False
    #: only sides of equal size speak: who is right cannot be told by counting
    tie: bool = False
    #: how sure a cause that rests on this may be at most
    cap: Confidence = Confidence.CERTAIN
    #: what in the source can have parted them, and how the actors went on from there; empty where it does not say
    choices: tuple[Choice, ...] = ()

    @property
    def act(self) -> Step | None:
        return self.parting.left_next

    @property
    def instead(self) -> Step | None:
        return self.parting.right_next

    @property
    def culprits(self) -> RankSet:
        """The smaller side; where both are equal, the one that did the odd thing."""
        return self.others if len(self.others) < len(self.actors) else self.actors

    def place(self, choice: Choice) -> Site:
        """The line of a choice to show for the culprits: the jump that they took, or else the condition."""
        return choice.place if self.culprits == self.actors else choice.site

    def blame(self, confidence: Confidence) -> Confidence:
        """How sure it is that these are to blame and not those that did as usual: counting decides, if it can."""
        return confidence if self.minority else weaker(confidence, Confidence.LIKELY)

    def collectives(self) -> tuple[Step | None, Step | None]:
        """The first collective of either side from the parting on: what each waits for the other to join."""
        act = next((step for step in self.parting.left if step.collective), self.act)
        instead = next((step for step in self.parting.right if step.collective), self.instead)
        return act, instead


@functools.lru_cache(maxsize=2)
def stories(facts: Facts) -> tuple[Story, ...]:
    """One story for every side of the job that parted from the largest, if that is what holds the job up."""
    return tuple(_stories(facts))


def _stories(facts: Facts) -> Iterator[Story]:
    for divergence in facts.divergences:
        sides = divergence.odd | divergence.reference
        cap = cap_of_histories(facts.outcome, facts.graph, facts.failures, (divergence.odd, divergence.reference))
        if cap is not None and not any(_joins(facts, rank) for rank in sides):
            story = tell(facts, divergence)
            ways = control_flow_diff.choices(facts, story.parting, story.actors, story.others)
            # who has an exception under way took no condition's way, though one may lead to the same place
            if any(one.rank in story.culprits and not one.victim for one in facts.masked):
                cap = weaker(cap, Confidence.LIKELY)
            yield dataclasses.replace(story, cap=cap, choices=ways)


def _joins(facts: Facts, rank: Rank) -> bool:
    """The rank is inside torch's Join, which shadows the collectives of ranks that still have data."""
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen else None
    return main is not None and any(frame.file.endswith("distributed/algorithms/join.py") for frame in main.frames)


def tell(facts: Facts, divergence: Divergence) -> Story:
    """Name the parting, looking at it from either side."""
    for mirrored in (False, True):
        parting = divergence.cause.mirrored() if mirrored else divergence.cause
        actors = divergence.reference if mirrored else divergence.odd
        others = divergence.odd if mirrored else divergence.reference
        shape, sure = _shape(facts, parting, actors, others)
        if shape is not Shape.UNCLEAR:
            return _story(divergence, shape, sure, parting, actors, others)
    return _story(divergence, Shape.UNCLEAR, False, divergence.cause, divergence.odd, divergence.reference)


def _story(
    divergence: Divergence, shape: Shape, sure: bool, parting: Parting, actors: RankSet, others: RankSet
) -> Story:
    tie = len(actors) == len(others)
    return Story(shape, actors, others, parting, divergence.unique, len(actors) < len(others), sure, tie)


def _shape(facts: Facts, parting: Parting, actors: RankSet, others: RankSet) -> tuple[Shape, bool]:
    act, instead = parting.left_next, parting.right_next
    if act is None:
        return Shape.UNCLEAR, False
    if instead is not None and (known := _round_shape(parting.before, act, instead)):
        return known, True
    if instead is not None and _raised_past(facts, parting, act, instead, actors, others):
        return Shape.SKIPPED, True
    if _forwards_alone(facts, act, others):
        return Shape.EXTRA_FORWARD, True
    behind = parting.behind and not parting.rejoined and not _met_wrongly(facts, actors, others)
    if act.kind is not EventKind.CALL or behind:
        return Shape.UNCLEAR, False
    if parting.inserted():
        if instead is not None and control_flow_diff.ended_inner_loop(facts, parting, actors, others):
            return Shape.LEFT_LOOP, True
        return Shape.EXTRA_CALL, True
    if instead is None or parting.mirrored().inserted():
        return Shape.UNCLEAR, False
    if instead.kind in _ITERATION or instead.kind is EventKind.OPTIMIZER_STEP:
        return _call_against_round(facts, parting, act, actors, others)
    if instead.kind is EventKind.CALL:
        return _call_against_call(facts, parting, act, instead, actors, others)
    return Shape.UNCLEAR, False


def _met_wrongly(facts: Facts, actors: RankSet, others: RankSet) -> bool:
    """Operations that do not belong together have met: nobody is merely behind.

    Both sides wait in them; or they were of unequal size, for which gloo ended a rank.
    """
    waits = [wait for rank in others if (wait := facts.wait(rank)) is not None]
    if any(set(wait.mismatched) & set(actors) and wait.rank in facts.graph.stuck for wait in waits):
        return True
    own = [failure for failure in facts.failures if not failure.victim]
    return facts.outcome is Outcome.CRASH and bool(own) and own[0].status == ABORTED


def _forwards_alone(facts: Facts, act: Step, others: RankSet) -> bool:
    """The actors' forward, from a place that the others never came to, broadcasts buffers."""
    return act.kind is EventKind.FORWARD and act.collective and not made_by(facts, act, others)


def _round_shape(before: Step | None, act: Step, instead: Step) -> Shape | None:
    """Shapes that the kinds of the next events decide alone."""
    if act.kind is EventKind.STOP_ITERATION and instead.kind is EventKind.NEXT and act.site == instead.site:
        return Shape.ENDED_EARLY
    if act.kind is EventKind.FORWARD_NO_SYNC and instead.kind is EventKind.FORWARD:
        return Shape.NO_SYNC
    in_round = before is not None and before.kind in (EventKind.NEXT, EventKind.FORWARD)
    if instead.kind is EventKind.BACKWARD and act.kind in _NEW_ROUND and in_round:
        return Shape.SKIPPED
    skips_forward = act.kind in (EventKind.NEXT, EventKind.STOP_ITERATION)
    if instead.kind is EventKind.FORWARD and skips_forward and before and before.kind is EventKind.NEXT:
        return Shape.SKIPPED
    return None


def _raised_past(facts: Facts, parting: Parting, act: Step, instead: Step, actors: RankSet, others: RankSet) -> bool:
    """The actors went on with their loop past a call of the others, or made their last call once more.

    And only an exception leads there.
    """
    again = act.kind is EventKind.CALL and act == parting.before and act != instead
    if not (again or act.kind in _NEW_ROUND) or instead.kind is not EventKind.CALL:
        return False
    ways = control_flow_diff.choices(facts, parting, actors, others)
    return bool(ways) and all(way.kind is Kind.EXCEPTION for way in ways)


def _call_against_round(
    facts: Facts, parting: Parting, act: Step, actors: RankSet, others: RankSet
) -> tuple[Shape, bool]:
    """One side is in a collective call where the other goes on with its loop."""
    known, instead = made_by(facts, act, others), parting.right_next
    if parting.right_next and _forwards_alone(facts, parting.right_next, actors):
        return Shape.UNCLEAR, False  # theirs to tell
    if not known and act.site is not None and condition_of(facts, act.site, actors, others):
        return Shape.EXTRA_CALL, True
    if known and instead is not None and ran_module(parting.before, act, instead):
        return Shape.EXTRA_CALL, True
    ways = control_flow_diff.choices(facts, parting, actors, others)
    if ways and all(way.enters for way in ways):
        return Shape.EXTRA_CALL, True
    where = left_loop(facts, parting, actors, others)[0]
    if where is Whereabouts.OUTSIDE:
        return Shape.LEFT_LOOP, True
    if where is Whereabouts.INSIDE and not known:
        return Shape.EXTRA_CALL, True
    return (Shape.LEFT_LOOP if known or ways else Shape.UNCLEAR), bool(ways)


def _call_against_call(
    facts: Facts, parting: Parting, act: Step, instead: Step, actors: RankSet, others: RankSet
) -> tuple[Shape, bool]:
    """Both sides are in collective calls, but not in the same."""
    ours, theirs = made_by(facts, act, others), made_by(facts, instead, actors)
    if ours and theirs:
        if control_flow_diff.past_a_condition(facts, parting.mirrored(), others, actors):
            return Shape.UNCLEAR, False  # theirs to tell
        past = control_flow_diff.past_a_condition(facts, parting, actors, others)
        return (Shape.EXTRA_CALL, True) if past else (Shape.ORDER, False)
    if by_element(facts, act, instead):
        return Shape.ORDER, True
    if act.site is None or instead.site is None or ours:
        return Shape.UNCLEAR, False
    conditional = condition_of(facts, act.site, actors, others)
    if theirs:
        if not conditional and left_loop(facts, parting, actors, others)[0] is Whereabouts.OUTSIDE:
            return Shape.LEFT_LOOP, True
        return Shape.EXTRA_CALL, conditional is not None
    if both_ways(facts, act, instead) or shares_loop(facts, actors.members[0], others.members[0]):
        return Shape.ORDER, True
    if conditional and not condition_of(facts, instead.site, others, actors):
        return Shape.EXTRA_CALL, True
    ways = control_flow_diff.choices(facts, parting, actors, others)
    on = control_flow_diff.leads_on(facts, parting, actors, others)
    back = control_flow_diff.leads_on(facts, parting.mirrored(), others, actors)
    if len(ways) == 1 and ways[0].enters and on and not back:
        return Shape.EXTRA_CALL, True
    return Shape.UNCLEAR, False


def condition_on_rank(facts: Facts, story: Story) -> tuple[Site, source.Span] | None:
    """The condition on the rank under which the actors made their call, whether or not they still stand in it.

    Where no stack shows the callers any more, the only statement that can have parted the ranks may be one.
    """
    if story.act is None or story.act.site is None:
        return None
    found = condition_of(facts, story.act.site, story.actors, story.others)
    if found is None and len(story.choices) == 1 and story.choices[0].enters:
        site = story.choices[0].site
        span = source.condition_on_rank(facts.evidence.code, site)
        found = (site, span) if span else None
    return found


def parted_by(facts: Facts, story: Story) -> tuple[str, ...]:
    """What in the source parted the ranks, for people; or why that is not shown."""
    changed = control_flow_diff.unreadable(facts, story.parting)
    if changed:
        return (
            f"{PurePath(changed).name} was changed after the job started: what parted the ranks is not read from it",
        )
    return tuple(control_flow_diff.told(story.choices, story.actors, story.others))


def decided_alone(facts: Facts, story: Story) -> bool:
    """The actors' extra call stands under a condition, and not one on the rank."""
    if story.shape is not Shape.EXTRA_CALL or not story.choices:
        return False
    conditions = all(choice.kind is Kind.CONDITION for choice in story.choices)
    return conditions and condition_on_rank(facts, story) is None


def only_an_exception(story: Story) -> bool:
    """Nothing leads past the skipped work, or out of the loop, but an exception that is caught."""
    shapes = (Shape.SKIPPED, Shape.LEFT_LOOP)
    return story.shape in shapes and {choice.kind for choice in story.choices} == {Kind.EXCEPTION}


def perhaps_an_exception(story: Story) -> bool:
    """A condition leads past the skipped work, and so does an exception: the evidence does not tell which it was."""
    kinds = {choice.kind for choice in story.choices}
    return story.shape is Shape.SKIPPED and Kind.EXCEPTION in kinds and len(kinds) > 1
