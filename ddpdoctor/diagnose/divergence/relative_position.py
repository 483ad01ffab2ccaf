"""Relative positions of ranks in the source: inside the same loop, after it, or out of its function."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing


class RelativePosition(Enum):
    INSIDE = "inside"
    #: after a loop of a function that both are in
    OUTSIDE = "outside"
    #: not in the function whose loop the other is in
    RETURNED = "returned"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """A loop in the source."""

    file: str
    span: enclosing.Span


def made_by(facts: Facts, step: HistoryStep, ranks: Iterable[Rank]) -> bool:
    """Whether any of the ranks has made this call from this place before, or is making it."""
    return any(facts.histories[rank].made(step) for rank in ranks if rank in facts.histories)


def those_that_did(facts: Facts, step: HistoryStep | None, ranks: RankSet) -> RankSet:
    """The ranks that did this, of ranks of which others may have a role of their own; all if none is known to."""
    return RankSet.of(rank for rank in ranks if step and made_by(facts, step, [rank])) or ranks


def left_loop(facts: Facts, compared: Comparison) -> tuple[RelativePosition, SourceLoop | None]:
    """Whether the odd ranks have left a loop that the others continue, and which.

    It counts only if the odd ranks were in that loop just before: their last common step was made there, and they have
    done what the others do there. Otherwise both sides have left it, and the others are in it anew. Of ranks that have
    returned from the others' function it does not count after their data ended. The habits of a rank with a role of
    its own are in another loop, so nothing follows from where they were made.
    """
    where, loop = position_of(facts, *compared.pair)
    reference_next, before = compared.reference_next, compared.before
    was_in = reference_next is not None and made_by(facts, reference_next, compared.odd)
    if before is not None and reference_next is not None and loop is not None and _made_in(loop, reference_next):
        was_in = was_in and _made_in(loop, before)
    if where is RelativePosition.OUTSIDE and not was_in:
        return RelativePosition.UNKNOWN, None
    if where is RelativePosition.RETURNED:
        ended = before is not None and before.kind is EventKind.STOP_ITERATION
        return (RelativePosition.OUTSIDE, loop) if was_in and not ended else (RelativePosition.UNKNOWN, None)
    return where, loop


def calls_in_loop(facts: Facts, compared: Comparison) -> bool:
    """Whether the odd ranks made their call within a turn of the loop that the others are in. Of ranks that have ended
    since, no stack tells it, and the frames of both sides' next steps do."""
    if left_loop(facts, compared)[0] is RelativePosition.INSIDE:
        return True
    call, goes_round = compared.odd_next, compared.reference_next
    if call is None or goes_round is None or call.kind is not EventKind.CALL or not call.path:
        return False
    loop = _innermost_loop(facts, goes_round)
    return loop is not None and _made_in(loop, call)


def _innermost_loop(facts: Facts, step: HistoryStep) -> SourceLoop | None:
    for frame in step.path:
        if not facts.is_library(frame.file) and (span := enclosing.enclosing_loop(facts.program, frame)):
            return SourceLoop(frame.file, span)
    return None


def _made_in(loop: SourceLoop, step: HistoryStep) -> bool:
    """Whether the step was made in the loop, as far as its frames are known."""
    frames_of = (*step.path, *([step.site] if step.site else []))
    return not frames_of or any(frame.file == loop.file and frame.line in loop.span for frame in frames_of)


def users_line(facts: Facts, ranks: RankSet, site: Site) -> Site:
    """The user's line that made a call: the site itself, or, if that is in a library, the line that led there."""
    if facts.is_library(site.file):
        for rank in ranks:
            own = facts.stack(rank)
            if own and any(frames.same_place(frame, site) for frame in outside_torch(facts, rank)):
                return own[0]
    return site


def outside_torch(facts: Facts, rank: Rank) -> tuple[Site, ...]:
    """The main thread's frames without torch's, including libraries, innermost first."""
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen else None
    return tuple(frame for frame in main.frames if not frames.is_internal(frame.file)) if main else ()


def shares_loop(facts: Facts, left: Rank, right: Rank) -> bool:
    """Whether both stacks pass through the same line of one loop and diverge below it, as when one loop makes both
    calls.
    """
    ours, theirs = facts.stack(left)[::-1], facts.stack(right)[::-1]
    common = [a for a, b in zip(ours, theirs, strict=False) if a == b]
    length = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), len(common))
    if not 0 < length < min(len(ours), len(theirs)):
        return False
    fork = ours[length - 1]
    loop = enclosing.enclosing_loop(facts.program, fork)
    return loop is not None and ours[length].function != theirs[length].function


def position_of(facts: Facts, actor: Rank, other: Rank) -> tuple[RelativePosition, SourceLoop | None]:
    """Whether the odd rank is still inside the loops that the other rank is in, and which one it has left.

    Both stacks are followed from the outermost frame to the innermost function that they share; there the lines are
    compared. Loops of functions that only the other rank is in were left by returning from them.
    """
    ours, theirs = facts.stack(actor)[::-1], facts.stack(other)[::-1]
    shared = 0
    for mine, its in zip(ours, theirs, strict=False):
        if (mine.file, mine.function) != (its.file, its.function):
            break
        shared += 1
        if mine.line != its.line:
            break
    if shared == 0:
        return RelativePosition.UNKNOWN, None
    mine, its = ours[shared - 1], theirs[shared - 1]
    loops = enclosing.enclosing_loops(facts.program, its)
    for span in reversed(loops):
        if mine.line not in span:
            behind = mine.line > span.last
            return (RelativePosition.OUTSIDE if behind else RelativePosition.UNKNOWN), SourceLoop(its.file, span)
    for frame in theirs[shared:]:
        inner = enclosing.enclosing_loops(facts.program, frame)
        if inner:
            return RelativePosition.RETURNED, SourceLoop(frame.file, inner[0])
    return (RelativePosition.INSIDE if loops else RelativePosition.UNKNOWN), None


def ran_module(before: HistoryStep | None, odd_next: HistoryStep, reference_next: HistoryStep) -> bool:
    """Whether a running module made the odd ranks' call while the others are past the forward that should
    have run it.
    """
    runs = [is_forward(step) for step in (before, odd_next, reference_next)]
    return runs == [False, True, False] and reference_next.kind is EventKind.BACKWARD


def is_forward(step: HistoryStep | None) -> bool:
    """Whether a module's forward made the step."""
    return step is not None and step.site is not None and step.site.function.rpartition(".")[2] == "forward"


def awaited_block(facts: Facts, outside: HistoryStep | None, inside: HistoryStep | None) -> Site | None:
    """The head of the `with` block at which one side stands, and in which the other made its call: ranks enter it one
    after the other (`main_process_first()`), so that those outside cannot come to what is called in it."""
    if outside is None or inside is None:
        return None
    frames_outside = outside.path or ((outside.site,) if outside.site else ())
    heads = (frame for frame in frames_outside if _waits_in(facts, frame, inside.path))
    return next(heads, None)


def _waits_in(facts: Facts, head: Site, path: tuple[Site, ...]) -> bool:
    blocks = (node for node in enclosing.around(facts.program, head) if isinstance(node, ast.With))
    block = next((node for node in blocks if head.line < node.body[0].lineno), None)
    if block is None:
        return False
    body = range(block.body[0].lineno, (block.end_lineno or block.lineno) + 1)
    here = (head.file, head.plain_function)
    return any((frame.file, frame.plain_function) == here and frame.line in body for frame in path)
