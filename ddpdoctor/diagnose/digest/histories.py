"""Comparison of two ranks' histories: where they diverge, and whether that matters.

Ranks of a healthy job differ all the time: rank 0 logs, each branch of an `if` broadcasts from its own line. What
matters is a place from which on one rank has issued more, fewer or other collectives than another. So two histories are
compared event by event. Where they differ, the shortest stretch after which they agree again is sought, and only a
stretch that changes the order of collectives counts as a difference.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ddpdoctor.diagnose.digest import frames, operations
from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.progress import Event, EventKind
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site

#: Most events between two places at which histories agree.
WINDOW = 48
#: Equal events in a row that count as agreeing again.
RUN = 4
#: Most differences that are examined thoroughly: if ranks have different roles, histories differ everywhere.
THOROUGH = 32
_FORWARDS = frozenset({EventKind.FORWARD, EventKind.FORWARD_NO_SYNC})
#: what a rank does in a round in which it meets nobody
_LOCAL_ROUND = frozenset({EventKind.BACKWARD, EventKind.OPTIMIZER_STEP})
#: events of data iterators
_DATA = frozenset({EventKind.NEXT, EventKind.STOP_ITERATION, EventKind.NEXT_RAISED})
#: collectives with which wrapped models begin a forward
_BEGIN_FORWARDS = ("broadcast", "all_gather_into_tensor", "_all_gather_base")


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One event of a history, without what varies between runs of the same code."""

    kind: EventKind
    site: Site | None
    op: str = ""
    group: tuple[str, tuple[Rank, ...]] | None = None
    #: global rank of the root, where the operation has one
    root: Rank | None = None
    #: issues a collective, so its order matters to other ranks
    collective: bool = False
    #: frames of libraries between the job's line and the operation, innermost first: one line of a job may call a
    #: framework that issues all operations
    via: tuple[Site, ...] = field(default=(), compare=False)
    #: these frames as they are compared: of a barrier without their lines, since a helper may make the same barrier
    #: before a block on one rank and after it on another (`main_process_first()`)
    way: tuple[Site, ...] = ()
    #: all frames outside torch, innermost first; the job's own callers do not make it another step
    path: tuple[Site, ...] = field(default=(), compare=False)
    #: elements of its tensor, where they must be as many on all ranks; None if they need not or if it is not known. The
    #: same line with another size is the same step: a batch may be smaller than others.
    elements: int | None = field(default=None, compare=False)

    @property
    def issued(self) -> tuple[object, ...]:
        """What must be equal on all ranks for the operations to pair."""
        return (self.op or self.kind.value, self.group, self.root)

    def pairs_with(self, other: HistoryStep) -> bool:
        """Whether the operations of two ranks pair; those of different places do only where their sizes are equal."""
        elsewhere = self != other and None not in (self.elements, other.elements)
        return self.issued == other.issued and not (elsewhere and self.elements != other.elements)


@dataclass(frozen=True, slots=True)
class HistoryDiff:
    """A place at which the history of one rank (`left`) and that of another (`right`) diverge."""

    #: the last event before it that both have
    before: HistoryStep | None
    left: tuple[HistoryStep, ...]
    right: tuple[HistoryStep, ...]
    #: the histories agree again after it
    rejoined: bool
    #: one rank's collectives so far are a prefix of the other's, so it may only be behind
    behind: bool = False
    #: the event at which both agree again
    after: HistoryStep | None = None

    @property
    def left_next(self) -> HistoryStep | None:
        return next(iter(self.left), self.after)

    @property
    def right_next(self) -> HistoryStep | None:
        return next(iter(self.right), self.after)

    def inserted(self) -> bool:
        """Whether only the left side issued collectives here and both agree again afterwards."""
        return self.rejoined and bool(_issued(self.left)) and not _issued(self.right)

    def past_refills(self) -> HistoryDiff:
        """Without the end of an iterator that one side begins anew at once, where the other side is elsewhere: it went
        on with its round (`while True: yield from loader`).
        """
        left, right = (_past_refill(*sides) for sides in ((self.left, self.right_next), (self.right, self.left_next)))
        return replace(self, left=left, right=right)

    def mirrored(self) -> HistoryDiff:
        return HistoryDiff(self.before, self.right, self.left, self.rejoined, self.behind, self.after)


def _past_refill(side: tuple[HistoryStep, ...], other: HistoryStep | None) -> tuple[HistoryStep, ...]:
    if len(side) < 2 or side[0].kind is not EventKind.STOP_ITERATION or side[1].kind is not EventKind.NEXT:
        return side
    same = (side[0].site, side[0].path) == (side[1].site, side[1].path)
    return side[1:] if same and other is not None and other.site != side[0].site else side


@dataclass(frozen=True, slots=True)
class History:
    """The events of the thread that trains in one rank, oldest first."""

    rank: Rank
    steps: tuple[HistoryStep, ...]
    times: tuple[float, ...]
    #: the ring has overwritten older events
    truncated: bool

    def loaders(self) -> frozenset[Site | None]:
        """The places where the rank created data iterators."""
        return frozenset(s.site for s in self.steps if s.kind in _DATA)

    def made(self, step: HistoryStep) -> bool:
        """Whether the rank has issued this operation from this place before."""
        same = [o for o in self.steps if o.kind is step.kind and o.site == step.site and o.way == step.way]
        return any(other.op == step.op or step.kind is not EventKind.CALL for other in same)


def read_history(rank: RankEvidence) -> History | None:
    """The history of the thread that trains; None if the rank has no page."""
    if rank.page is None:
        return None
    events = rank.page.training()
    steps: list[HistoryStep] = []
    times: list[float] = []
    synchronises = False
    for event in events:
        if steps and (whole := _with_collective(steps[-1], event)):
            steps[-1] = whole
            continue
        if event.kind is EventKind.FORWARD:
            synchronises = True
        step = _step(event, reduces=synchronises if event.reduces is None else event.reduces)
        if event.kind is EventKind.BACKWARD:
            synchronises = False
        if step:
            steps.append(step)
            times.append(event.time)
    kept = _without_local_rounds(steps)
    return History(rank.rank, tuple(steps[i] for i in kept), tuple(times[i] for i in kept), rank.page.events_lost > 0)


def _without_local_rounds(steps: Sequence[HistoryStep]) -> Sequence[int]:
    """The indices of the steps to compare. Where a rank updates its weights several times between two collectives as a
    rule, the number of these rounds is its own affair, and each stretch of them counts as one round."""
    numbered = itertools.groupby(range(len(steps)), key=lambda index: steps[index].collective)
    stretches = [list(stretch) for collective, stretch in numbered if not collective]
    local = [stretch for stretch in stretches if {steps[index].kind for index in stretch} == _LOCAL_ROUND]
    several = [stretch for stretch in local if _updates(steps, stretch) > 1]
    if len(several) <= 1 or 2 * len(several) <= len(local):
        return range(len(steps))
    again: set[int] = set()
    for stretch in several:
        first = {steps[index]: index for index in reversed(stretch)}
        again |= set(stretch) - set(first.values())
    return [index for index in range(len(steps)) if index not in again]


def _updates(steps: Sequence[HistoryStep], stretch: Sequence[int]) -> int:
    return sum(steps[index].kind is EventKind.OPTIMIZER_STEP for index in stretch)


def _with_collective(forward: HistoryStep, event: Event) -> HistoryStep | None:
    """A forward merged with the collective that it begins with; None if the event is not such a collective.

    DDP broadcasts buffers, FSDP gathers parameters: both from the line that calls the model.
    """
    call = event.call
    if forward.kind not in _FORWARDS or forward.collective or call is None:
        return None
    if (
        not frames.same_place(event.site, forward.site)
        or _via(event) != forward.via
        or not call.op.startswith(_BEGIN_FORWARDS)
    ):
        return None
    group = (call.group.name, call.group.members) if call.group else None
    return replace(forward, op=call.op, group=group, root=call.root, collective=True)


def _step(event: Event, *, reduces: bool) -> HistoryStep | None:
    via, path = _via(event), event.path
    if event.kind is not EventKind.CALL:
        reducing = event.kind is EventKind.BACKWARD and reduces
        return HistoryStep(event.kind, event.site, collective=reducing, via=via, way=via, path=path)
    call = event.call
    if call is None or call.kind not in COLLECTIVE:
        return None
    group = (call.group.name, call.group.members) if call.group else None
    root = call.root if group and call.root in group[1] else None
    way = tuple(replace(frame, line=0) for frame in via) if operations.is_barrier(call.op) else via
    elements = call.numel if operations.equal_sizes(call.op) else None
    return HistoryStep(
        event.kind, event.site, call.op, group, root, collective=True, via=via, way=way, path=path, elements=elements
    )


def _via(event: Event) -> tuple[Site, ...]:
    """The frames below the job's line; of a batch, those of a library that runs several loops for that line."""
    if event.site not in event.path:
        return ()
    return event.path[: event.path.index(event.site)]


def history_diffs(left: History, right: History) -> tuple[HistoryDiff, ...]:
    """All places where the order of collectives of two ranks diverges, oldest first."""
    ours, theirs = shared(left, right)
    return tuple(_walk(ours, theirs))


def shared(left: History, right: History) -> tuple[tuple[HistoryStep, ...], tuple[HistoryStep, ...]]:
    """Both histories from a common moment on, without the events that only one rank can have.

    Those are collectives of groups that the other rank is not in, and data iterators that it never created.
    """
    shared = left.loaders() & right.loaders()

    def concerns_both(step: HistoryStep) -> bool:
        if step.kind is EventKind.NEXT_RAISED:
            return False  # it may be caught within the loader's wrapper; loader errors are examined separately
        if step.kind in _DATA:
            return step.site in shared
        return step.group is None or (left.rank in step.group[1] and right.rank in step.group[1])

    start = 0.0
    if left.truncated or right.truncated:
        starts = [h.times[0] for h in (left, right) if h.truncated and h.times]
        start = max(starts, default=0.0)
    sides = [
        [step for step, time in zip(h.steps, h.times, strict=True) if time >= start and concerns_both(step)]
        for h in (left, right)
    ]
    if start:
        # The order of simultaneous events is chance: begin where both agree.
        skip = None if _agree(sides[0], sides[1], 0, 0) else _rejoin(sides[0], sides[1], 0, 0)
        if skip:
            sides = [sides[0][skip[0] :], sides[1][skip[1] :]]
    return tuple(sides[0]), tuple(sides[1])


def _walk(ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep]) -> list[HistoryDiff]:
    found: list[HistoryDiff] = []
    harmless: set[tuple[HistoryStep, HistoryStep]] = set()
    i = j = differences = together = 0
    while i < len(ours) and j < len(theirs):
        if ours[i] == theirs[j]:
            i, j, together = i + 1, j + 1, together + 1
            continue
        before = ours[i - 1] if i else None
        differences += 1
        step = _rejoin(ours, theirs, i, j, thorough=differences <= THOROUGH)
        if step is None:
            parts = together >= RUN and (ours[i], theirs[j]) not in harmless
            found.extend(_open_end(before, ours[i:], theirs[j:], parts=parts))
            break
        ends = i + step[0], j + step[1]
        diff = HistoryDiff(before, tuple(ours[i : ends[0]]), tuple(theirs[j : ends[1]]), True, after=ours[ends[0]])
        if not _pair(diff.left, diff.right):
            found.append(diff)
        else:
            harmless.add((ours[i], theirs[j]))
        i, j, together = *ends, 0
    return found


def _issued(steps: Sequence[HistoryStep]) -> list[HistoryStep]:
    return [step for step in steps if step.collective]


def _pair(ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep]) -> bool:
    """Whether all collectives of the two stretches pair, and none is left over."""
    left, right = _issued(ours), _issued(theirs)
    return len(left) == len(right) and _paired(left, right) == len(left)


def _paired(left: Sequence[HistoryStep], right: Sequence[HistoryStep]) -> int:
    """How many of these collectives pair before the first two that do not."""
    both = enumerate(zip(left, right, strict=False))
    return next((n for n, (one, other) in both if not one.pairs_with(other)), min(len(left), len(right)))


def _open_end(
    before: HistoryStep | None, ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep], *, parts: bool
) -> list[HistoryDiff]:
    """The histories never agree again: where they part for good, or else the first collective in which they differ.

    `parts`: they went together until here, and have not differed in this way before.
    """
    left, right = _issued(ours), _issued(theirs)
    shorter = min(len(left), len(right))
    same = _paired(left, right)
    apart = same < shorter and parts and _apart(ours, theirs, same)
    if apart or _one_reduces(ours, theirs):
        same = 0  # whatever both issue first
    if len(left) == len(right) == same:
        return []
    ours, theirs = _after(ours, same), _after(theirs, same)
    return [HistoryDiff(None if same else before, tuple(ours), tuple(theirs), rejoined=False, behind=same == shorter)]


def _apart(ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep], same: int) -> bool:
    """Whether the first collectives of both pair by chance: they have no step in common, and neither goes round in a
    loop of its own; or one side's data have ended, and what follows is the last round.
    """
    if {ours[0].kind, theirs[0].kind} == {EventKind.NEXT, EventKind.STOP_ITERATION} and ours[0].site == theirs[0].site:
        return True
    left, right = _until(ours, same), _until(theirs, same)
    return set(left).isdisjoint(right) and ours[0] not in left[1:] and theirs[0] not in right[1:]


def _until(steps: Sequence[HistoryStep], count: int) -> Sequence[HistoryStep]:
    """The steps up to the collective of this number, counted from 1, itself included."""
    places = [index for index, step in enumerate(steps) if step.collective]
    return steps[: places[count - 1] + 1] if count else ()


def _one_reduces(ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep]) -> bool:
    """Whether only one of the two goes on to reduce gradients: the other's forward was under no_sync, or it is in
    another round already.
    """
    if {ours[0].kind, theirs[0].kind} == _FORWARDS:
        return ours[0].site == theirs[0].site
    return any(_reduces(one) and other[0].kind in _DATA for one, other in ((ours, theirs), (theirs, ours)))


def _reduces(steps: Sequence[HistoryStep]) -> bool:
    """Whether a backward comes now, with collectives of its own: it reduces itself, or a hook of FSDP does."""
    if steps[0].kind is not EventKind.BACKWARD:
        return False
    inside = itertools.takewhile(lambda step: step.kind is EventKind.CALL and step.site == steps[0].site, steps[1:])
    return steps[0].collective or any(inside)


def _after(steps: Sequence[HistoryStep], count: int) -> Sequence[HistoryStep]:
    """The steps after the first `count` collectives."""
    places = [index for index, step in enumerate(steps) if step.collective]
    return steps[places[count - 1] + 1 :] if count else steps


def _rejoin(
    ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep], i: int, j: int, *, thorough: bool = True
) -> tuple[int, int] | None:
    """How many steps of each history to skip so that both agree again: the longest agreement, else the smallest sum.

    A loop's history repeats, so a skipped backward can also be read as an inserted forward, and a step done in another
    way as one that was left out. Only the right reading makes the histories agree up to the end of one of them. The
    result is symmetric in the two sides.
    """
    best: tuple[int, int] | None = None
    longest = 0
    for a, b in _skips():
        if not _agree(ours, theirs, i + a, j + b):
            continue
        if not thorough:
            return a, b
        if best is None or a == 0 or b == 0 or a == b:
            length = _agreement(ours, theirs, i + a, j + b)
            if length > longest:
                best, longest = (a, b), length
    return best


@functools.cache
def _skips() -> tuple[tuple[int, int], ...]:
    """All candidate skips: smallest sum first, and among those the most even ones first."""
    pairs = [(a, b) for a in range(WINDOW + 1) for b in range(WINDOW + 1) if a or b]
    return tuple(sorted(pairs, key=lambda pair: (pair[0] + pair[1], abs(pair[0] - pair[1]), pair)))


def _agreement(ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep], i: int, j: int) -> int:
    """For how many steps both agree; unlimited if they agree up to the end of one of them."""
    length = 0
    while i + length < len(ours) and j + length < len(theirs):
        if ours[i + length] != theirs[j + length]:
            return length
        length += 1
    return 1 << 30


def _agree(ours: Sequence[HistoryStep], theirs: Sequence[HistoryStep], i: int, j: int) -> bool:
    left, right = ours[i : i + RUN], theirs[j : j + RUN]
    shorter = min(len(left), len(right))
    return shorter > 0 and left[:shorter] == right[:shorter]
