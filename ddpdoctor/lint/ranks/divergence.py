"""A divergence of two ranks: what is known about it, and its proof in a message."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.trace import QUIT, BlockExit, Branch, Loop, Op
from ddpdoctor.lint.ranks.residual import Cell, flat, has_op, walk
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite

#: operations of one rank shown in a message
SHOWN = 6
#: characters of one loop or alternative in a message
LONGEST = 48


@record(frozen=True, slots=True)
class CollectiveDivergence:
    """Two ranks that do not run the same collectives."""

    #: the branch at which they diverge
    branch: Branch
    #: an operation that only `runs` reaches there
    op: Op
    #: calls that lead from the analysed function to that operation, outermost first
    chain: tuple[SourceSite, ...]
    #: the rank that runs it and the rank that does not (for a rank-local condition: two hypothetical ranks 0 and 1)
    runs: int
    lacks: int
    #: how the other rank left, if the operation itself is outside the branch
    exit: BlockExit | None
    #: both sides of the branch run collectives of their own
    mismatched: bool
    #: what both ranks run, beginning with the first operation
    trace_runs: tuple[str, ...]
    trace_lacks: tuple[str, ...]
    #: inside a loop: the ranks diverge again in every iteration
    looped: bool = False
    #: the branch tests data of each rank, not the rank
    local: bool = False


def leaving_step(cell: Cell) -> tuple[BlockExit, Branch | None] | None:
    """The exit that a rank takes here, or may take under a condition that the other rank does not have."""
    for inner in walk_one(cell):
        if isinstance(inner.step, BlockExit) and (inner is cell or inner.step.kind in ("break", "return", QUIT)):
            return inner.step, inner.guard
    return None


def walk_one(cell: Cell) -> list[Cell]:
    """The cell and its nested cells, not the cells after it."""
    return [cell, *(c for side in cell.sides for c in walk(side))]


def names(cells: list[Cell]) -> tuple[str, ...]:
    """Operations in order, with loops and conditions in short form."""
    parts: list[str] = []
    for cell in cells:
        if isinstance(cell.step, Op):
            parts.append(f"{cell.step.op} {cell.step.detail}".rstrip())
        elif isinstance(cell.step, Loop):
            inner = names(flat(cell.sides[0]))
            if inner:
                parts.append(f"loop({', '.join(inner)})")
        elif isinstance(cell.step, Branch):
            sides = [names(flat(side)) for side in cell.sides]
            shown = " | ".join(", ".join(s) or "nothing" for s in sides)
            if has_op(cell.sides[0]) or has_op(cell.sides[1]) or leaving_step(cell) is not None:
                parts.append(f"({shown})")
        elif cell.step.kind in ("break", "continue", "raise", "exit", QUIT):
            parts.append(cell.step.kind)
    return tuple(parts)


def both_shown(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, str]:
    """Two traces for a message: long ones are cut, but never where they differ."""
    same = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    start = max(same - 1, 0) if max(len(one), len(two)) > SHOWN and same >= SHOWN - 1 else 0
    differing = (one[same : same + 1] or ("",))[0], (two[same : same + 1] or ("",))[0]
    cut = next((i for i, (a, b) in enumerate(zip(*differing, strict=False)) if a != b), 0)
    return _shown(one, start, same, cut), _shown(two, start, same, cut)


def _shown(trace: tuple[str, ...], start: int, differs: int, cut: int) -> str:
    """A trace from a position on; the part that differs is shown around the character where it does."""
    if not trace[start:]:
        return "..., nothing more" if start else "nothing"
    parts = [
        _part(part, cut if index == differs else 0)
        for index, part in enumerate(trace[: start + SHOWN])
        if index >= start
    ]
    return ("..., " if start else "") + ", ".join(parts) + (", ..." if len(trace) > start + SHOWN else "")


def _part(part: str, cut: int) -> str:
    if len(part) <= LONGEST:
        return part
    first = max(cut - LONGEST // 2, 0) if cut >= LONGEST - 3 else 0
    text = part[first : first + LONGEST]
    return ("..." if first else "") + text + ("..." if first + LONGEST < len(part) else "")


def proof(item: CollectiveDivergence) -> str:
    """The two sequences, in the wording of a message."""
    if item.local:
        runs, lacks = both_shown(item.trace_runs, item.trace_lacks)
        return f"a rank that continues runs: {runs}; one that does not runs: {lacks}"
    runs, lacks = both_shown(item.trace_runs, item.trace_lacks)
    return "; ".join(f"rank {rank} runs: {text}" for rank, text in sorted(((item.runs, runs), (item.lacks, lacks))))


def place(item: CollectiveDivergence) -> SourceSite:
    """Where the operation happens under the branch: the call that leads to it, or the operation itself."""
    head = item.branch.site
    for site in (*item.chain, item.op.site):
        if site.file == head.file and head.line <= site.line <= head.end_line:
            return site
    return head


def left_at(item: CollectiveDivergence, step: BlockExit) -> SourceSite:
    """Where a rank leaves; the branch itself if the function that it calls leaves in another file."""
    return step.site if step.site.file == item.branch.site.file else item.branch.site
