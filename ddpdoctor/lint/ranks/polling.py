"""Ranks that wait for a file whose writer waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, FileEvent, Loop, Op, Scope, Trace
from ddpdoctor.lint.values.values import WORLD, Symbol
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite

#: steps of one rank that are looked at
_MOST = 20_000


@record(frozen=True, slots=True)
class StuckPoll:
    """A file that comes only after a collective that the rank that waits for it has not entered."""

    waits: int
    writes: int
    #: what the writer runs first
    op: Op
    written: SourceSite


def stuck(trace: Trace) -> dict[SourceSite, StuckPoll]:
    """By the place where a file is asked for: why it cannot come, if that is where a rank waits for it."""
    found: dict[SourceSite, StuckPoll] = {}
    ranks = [list(islice(_steps(trace, rank), _MOST)) for rank in range(WORLD)]
    for rank, steps in enumerate(ranks):
        for behind, mark in _marks(steps, "asked"):
            reason = _reason(ranks, rank, behind, mark)
            if reason is not None:
                found.setdefault(mark.site, reason)
    return found


def _reason(ranks: list[list[Op | FileEvent]], rank: int, behind: list[Op], asked: FileEvent) -> StuckPoll | None:
    """Every rank that writes the file runs more collectives before than the one that asks has run."""
    reason: StuckPoll | None = None
    for writer, steps in enumerate(ranks):
        for before, mark in _marks(steps, "written"):
            if mark.path != asked.path or writer == rank:
                continue
            if len(before) <= len(behind) or [o.op for o in before[: len(behind)]] != [o.op for o in behind]:
                return None
            reason = reason or StuckPoll(rank, writer, before[len(behind)], mark.site)
    return reason


def _marks(steps: list[Op | FileEvent], kind: str) -> Iterator[tuple[list[Op], FileEvent]]:
    """Files of a kind, each with the collectives that come before."""
    before: list[Op] = []
    for step in steps:
        if isinstance(step, Op):
            before.append(step)
        elif step.kind == kind:
            yield list(before), step


def _steps(nodes: Trace, rank: int) -> Iterator[Op | FileEvent]:
    """What a rank comes by, in source order; both sides of what cannot be told."""
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
