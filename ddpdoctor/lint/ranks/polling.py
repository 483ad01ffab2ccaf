"""Ranks that wait for a file whose writer waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, FileEvent, Loop, Op, Scope, Trace
from ddpdoctor.lint.values.values import WORLD, Symbol
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite

#: most steps of one rank that are examined
_MOST = 20_000


@record(frozen=True, slots=True)
class StuckPoll:
    """A file that is written only after a collective that the rank waiting for it has not entered."""

    waits: int
    writes: int
    #: the collective that the writer runs first
    op: Op
    written: SourceSite


def stuck(trace: Trace) -> dict[SourceSite, StuckPoll]:
    """For each place where a rank waits for a file: why the file cannot appear, if it cannot."""
    found: dict[SourceSite, StuckPoll] = {}
    ranks = [list(islice(_steps(trace, rank), _MOST)) for rank in range(WORLD)]
    for rank, steps in enumerate(ranks):
        for behind, mark in _marks(steps, "asked"):
            reason = _reason(ranks, rank, behind, mark)
            if reason is not None:
                found.setdefault(mark.site, reason)
    return found


def _reason(ranks: list[list[Op | FileEvent]], rank: int, behind: list[Op], asked: FileEvent) -> StuckPoll | None:
    """The reason: every rank that writes the file first runs more collectives than the waiting rank has run."""
    reason: StuckPoll | None = None
    for writer, steps in enumerate(ranks):
        for before, mark in _marks(steps, "written"):
            if mark.path != asked.path or writer == rank:
                continue
            if len(before) <= len(behind) or [o.op for o in before[: len(behind)]] != [o.op for o in behind]:
                return None
            reason = reason or StuckPoll(rank, writer, before[len(behind)], mark.site)
    return reason


def early(trace: Trace) -> Iterator[tuple[SourceSite, SourceSite]]:
    """(where a rank tests for a file, where another one writes it) with no collective between the two."""
    ranks = [list(islice(_steps(trace, rank), _MOST)) for rank in range(WORLD)]
    found: set[tuple[SourceSite, SourceSite]] = set()
    for rank, steps in enumerate(ranks):
        for behind, mark in _marks(steps, "asked"):
            others = (other for number, other in enumerate(ranks) if number != rank)
            written = [w for other in others for before, w in _marks(other, "written")
                       if w.path == mark.path and [o.op for o in before] == [o.op for o in behind]]  # fmt: skip
            found.update((mark.site, one.site) for one in written)
    yield from sorted(found)


def _marks(steps: list[Op | FileEvent], kind: str) -> Iterator[tuple[list[Op], FileEvent]]:
    """File events of a kind, each with the collectives before it."""
    before: list[Op] = []
    for step in steps:
        if isinstance(step, Op):
            before.append(step)
        elif step.kind == kind:
            yield list(before), step


def _steps(nodes: Trace, rank: int) -> Iterator[Op | FileEvent]:
    """A rank's steps in source order; both sides of an undecided branch."""
    for node in nodes:
        if isinstance(node, FileEvent):
            yield node
        elif isinstance(node, Op):
            if node.members is None or rank in node.members:
                yield node
        elif isinstance(node, (Loop, Scope)):
            yield from _steps(node.body, rank)
        elif isinstance(node, Branch):
            atom = node.truth[rank] if len(node.truth) > 1 else node.truth[0]
            if isinstance(atom, Symbol) or atom:
                yield from _steps(node.then, rank)
            if isinstance(atom, Symbol) or not atom:
                yield from _steps(node.other, rank)
        elif isinstance(node, BlockExit) and node.kind != "yield":
            return
