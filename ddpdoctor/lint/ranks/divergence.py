"""A divergence of two ranks: what is known about it, and its proof in a message."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, Loop, Op
from ddpdoctor.lint.ranks.residual import Cell, has_op, walk
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
        if isinstance(inner.step, BlockExit) and (inner is cell or inner.step.kind in ("break", "return")):
            return inner.step, inner.guard
    return None


def flat(cell: Cell | None) -> list[Cell]:
    cells: list[Cell] = []
    while cell is not None:
        cells.append(cell)
        cell = cell.rest
    return cells


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
        elif cell.step.kind in ("break", "continue", "raise", "exit"):
            parts.append(cell.step.kind)
    return tuple(parts)


def shown(trace: tuple[str, ...]) -> str:
    """A trace for a message."""
    if not trace:
        return "nothing"
    parts = [part if len(part) <= LONGEST else part[: LONGEST - 3] + "..." for part in trace[:SHOWN]]
    return ", ".join(parts) + (", ..." if len(trace) > SHOWN else "")


def proof(item: CollectiveDivergence) -> str:
    """The two sequences, in the wording of a message."""
    if item.local:
        return (
            f"a rank that continues runs: {shown(item.trace_runs)}; one that does not runs: {shown(item.trace_lacks)}"
        )
    one = (item.runs, item.trace_runs)
    two = (item.lacks, item.trace_lacks)
    return "; ".join(f"rank {rank} runs: {shown(trace)}" for rank, trace in sorted((one, two)))


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
