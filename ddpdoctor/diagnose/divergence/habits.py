"""A rank compared with itself: where it stopped doing what it did in the round before.

Ranks with different roles (a learner and its actors, stages of a pipeline) run different lines that issue the same
collectives. Their histories never agree on a line, so the place where they diverge is no place in the source. A side
that has issued what the other side waits in before, and now does something that the other side never did, has left its
own way; the other side is where it always was.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ddpdoctor.diagnose.digest import histories
from ddpdoctor.diagnose.digest.histories import History, HistoryDiff, HistoryStep
from ddpdoctor.diagnose.digest.sides import Comparison, HistorySplit
from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.collectives import COLLECTIVE, Kind
from ddpdoctor.model.progress import Event, EventKind
from ddpdoctor.model.ranks import Rank, RankSet

#: Rounds that show an order, the present one included.
ENOUGH_ROUNDS = 3
#: an event, and the peer of a send or a receive
_Message = tuple[HistoryStep, Rank | None]


def left_partners(facts: Facts) -> tuple[HistorySplit, ...]:
    """The rank that did not begin another round, where only messages to single ranks show it."""
    found = []
    for rank in sorted(_awaited(facts).keys() & set(facts.waiting)) if not facts.splits else ():
        others = RankSet.of(one for one in facts.waiting if one != rank)
        waits = next((one for one in _awaited(facts)[rank] if one in others), None)
        if waits is None:
            continue
        side = Comparison(RankSet.of([rank]), others, HistoryDiff(None, (), (), rejoined=False), (rank, waits))
        if own := _left_its_partner(facts, side):
            diff = HistoryDiff(own.before, own.diff.left, (_messages(facts, waits)[-1][0],), rejoined=False)
            found.append(HistorySplit(own.odd, own.reference, (diff,), own.pair, minority=len(others) > 1))
    return tuple(found) if len(found) == 1 else ()


def left_own_way(facts: Facts, compared: Comparison) -> tuple[Comparison, Comparison] | None:
    """The same difference with the side that left its own way as the odd one, and that side against its last round."""
    diff, sides = compared.diff, (compared, compared.mirrored())
    found = [(side, own) for side in sides if (own := _left_its_partner(facts, side))]
    if not found and not (diff.before is not None or diff.rejoined or diff.behind):
        found = [(side, own) for side in sides if (own := _against_own_round(facts, side))]
    if len(found) != 1:
        return None
    side, own = found[0]
    parted = HistoryDiff(own.before, own.diff.left, side.diff.right, rejoined=False)
    return replace(side, diff=parted), own


def _left_its_partner(facts: Facts, side: Comparison) -> Comparison | None:
    """A rank that did not begin another round, and for whose message of that round another waits."""
    rank, *more = side.odd.members
    if more or not any(one in side.reference for one in _awaited(facts).get(rank, ())):
        return None
    rounds = _rounds(_messages(facts, rank))
    if len(rounds) < ENOUGH_ROUNDS:
        return None
    *earlier, present = rounds
    (now, _), (usual, peer) = present[0], earlier[-1][0]
    begins = all(one[:1] == earlier[-1][:1] for one in earlier[1:])
    known = any(step == now for one in earlier for step, _ in one)
    if not begins or known or peer not in side.reference or not now.collective:
        return None
    return replace(side, diff=HistoryDiff(earlier[-1][-1][0], (now,), (usual,), rejoined=False))


@kept
def _awaited(facts: Facts) -> Mapping[Rank, list[Rank]]:
    """For each rank the ranks that wait for a message of it, or for it to take one."""
    found: dict[Rank, list[Rank]] = {}
    for waiting in sorted(facts.graph.waits):
        wait = facts.wait(waiting)
        for rank in wait.targets if wait is not None and wait.kind in (Kind.SEND, Kind.RECV) else ():
            found.setdefault(rank, []).append(waiting)
    return found


def _against_own_round(facts: Facts, side: Comparison) -> Comparison | None:
    mine, theirs = map(facts.histories.get, side.pair)
    ours, other = _first_collective(side.diff.left), _first_collective(side.diff.right)
    if mine is None or theirs is None or ours is None or other is None:
        return None
    if _issued(theirs, ours) or not _issued(mine, other):
        return None
    steps, _ = histories.shared(mine, theirs)
    start = len(steps) - len(side.diff.left)
    last = next((n for n in range(start - 2, -1, -1) if steps[n] == steps[start - 1]), -1)
    if start < 1 or last < 0:
        return None
    usual, now = steps[last + 1 : start], steps[start:]
    same = next((n for n, (a, b) in enumerate(zip(usual, now, strict=False)) if a != b), None)
    if same is None:
        return None
    expected = _first_collective(usual[same:])
    if expected is None or expected.issued != other.issued:
        return None
    diff = HistoryDiff(steps[start + same - 1], now[same:], usual[same:], rejoined=False)
    return replace(side, diff=diff)


def left_out(facts: Facts, compared: Comparison) -> bool:
    """Whether the reference ranks went past the odd ranks' next step: in all earlier rounds both sides did it at this
    point, and what the reference ranks do now came later in the round.
    """
    left, right = map(facts.histories.get, compared.pair)
    if left is None or right is None or compared.diff.rejoined:
        return False
    ours, _ = histories.shared(left, right)
    common = ours[: len(ours) - len(compared.diff.left)]
    same = sum(1 for _ in itertools.takewhile(lambda step: step == common[-1], reversed(common)))
    point = common[-same - 1 :]  # how often one line has been passed is part of it
    ends = [n for n in range(len(point), len(common)) if common[n - len(point) : n] == point]
    rounds = [common[n:following] for n, following in itertools.pairwise((*ends, len(common)))]
    done = [one[0] == compared.odd_next and compared.reference_next in one for one in rounds]
    return len(done) >= ENOUGH_ROUNDS - 1 and all(done)


@dataclass(frozen=True, slots=True)
class Strayed:
    """Where the present round of a rank is no longer like any round before, messages to single ranks included."""

    #: the last event that an earlier round has, too
    before: HistoryStep
    now: HistoryStep
    #: what came instead in the earlier round that agrees longest
    usual: HistoryStep
    #: in earlier rounds, too, this event came after the one before, so that a loop may only have gone round once more
    again: bool = False

    @property
    def skipped(self) -> bool:
        """Whether a forward or a backward was left out, rather than a message."""
        return self.usual.kind in (EventKind.FORWARD, EventKind.BACKWARD) and self.now.kind is not self.usual.kind


def strayed_alone(facts: Facts, ranks: Iterable[Rank]) -> tuple[Rank, Strayed] | None:
    """The only one of these ranks that left the order of its earlier rounds."""
    found = [(rank, one) for rank in ranks if (one := strayed(facts, rank))]
    return found[0] if len(found) == 1 else None


@kept
def strayed(facts: Facts, rank: Rank) -> Strayed | None:
    """Whether the rank left the order of its earlier rounds; None also if there were too few to show an order."""
    rounds = _rounds(_messages(facts, rank))
    if len(rounds) < ENOUGH_ROUNDS:
        return None
    *earlier, present = rounds
    if (early := _began_anew(earlier, present)) is not None:
        return early
    same = [_agreement(one, present) for one in earlier]
    longest = max(same)
    usual = next(one for one, length in zip(reversed(earlier), reversed(same), strict=True) if length == longest)
    if longest == len(present) or not 0 < longest < len(usual):
        return None
    before, now = present[longest - 1][0], present[longest][0]
    pairs = (pair for each in earlier for pair in itertools.pairwise(step for step, _ in each))
    again = (before, now) in pairs
    return Strayed(before, now, usual[longest][0], again)


def left_usual_round(facts: Facts, ranks: Iterable[Rank]) -> tuple[Rank, Strayed] | None:
    """The only one of these ranks whose present round is not the beginning of the one that most of its rounds were:
    what now and then is right may be what went wrong this time."""
    found = [(rank, one) for rank in ranks if (one := _against_most(_rounds(_messages(facts, rank))))]
    return found[0] if len(found) == 1 else None


def _against_most(rounds: list[tuple[_Message, ...]]) -> Strayed | None:
    """None also where no kind of round is the most of all."""
    if len(rounds) < ENOUGH_ROUNDS:
        return None
    *earlier, present = rounds
    usual, often = Counter(earlier).most_common(1)[0]
    same = _agreement(usual, present)
    if 2 * often <= len(earlier) or not 0 < same < min(len(usual), len(present)):
        return None
    return Strayed(present[same - 1][0], present[same][0], usual[same][0])


def _began_anew(earlier: list[tuple[_Message, ...]], present: tuple[_Message, ...]) -> Strayed | None:
    """Where the rank broke off its last round, and began the present one as it begins all."""
    *complete, last = earlier
    same = [_agreement(one, last) for one in complete]
    broken_off = all(length == len(last) < len(one) for one, length in zip(complete, same, strict=True))
    if len(complete) < ENOUGH_ROUNDS - 1 or not broken_off or _agreement(complete[-1], present) < len(present):
        return None
    return Strayed(last[-1][0], present[0][0], complete[-1][len(last)][0])


def _messages(facts: Facts, rank: Rank) -> list[_Message]:
    """The rank's events, messages to single ranks included; empty if it has no page."""
    seen = facts.evidence.rank(rank)
    events = seen.page.training() if seen is not None and seen.page is not None else ()
    return [(_step(event), event.call.peer if event.call else None) for event in events]


def _step(event: Event) -> HistoryStep:
    op, collective = (event.call.op, event.call.kind in COLLECTIVE) if event.call else ("", False)
    return HistoryStep(event.kind, event.site, op, collective=collective, path=event.path)


def _rounds(steps: list[_Message]) -> list[tuple[_Message, ...]]:
    """The events between the optimizer steps; of a rank that updates no weights, from each message that is like its
    first one."""
    starts = [0, *(n + 1 for n, (step, _) in enumerate(steps) if step.kind is EventKind.OPTIMIZER_STEP)]
    first = next((one for one in steps if one[1] is not None), None)
    if len(starts) == 1 and first is not None:
        starts = [n for n, one in enumerate(steps) if one == first]
    found = [tuple(steps[begin:end]) for begin, end in itertools.pairwise((*starts, len(steps)))]
    return [one for one in found if one]


def _agreement(one: tuple[_Message, ...], other: tuple[_Message, ...]) -> int:
    """How many events both begin with."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _first_collective(steps: tuple[HistoryStep, ...]) -> HistoryStep | None:
    return next((step for step in steps if step.collective), None)


def _issued(history: History, call: HistoryStep) -> bool:
    """Whether the rank has issued such an operation before, from any line."""
    before = history.steps[:-1]
    return any(step.collective and step.issued == call.issued for step in before)
