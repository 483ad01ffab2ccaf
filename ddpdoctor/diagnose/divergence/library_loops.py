"""Loops of a library that some ranks have left behind, told by the lines of the function in which the ranks parted.

A framework's epochs are turns of another loop, so that what comes after the batches leads to the next batch, too: no
statement excludes it, and the source alone shows no parting. But the recorded paths name the lines in that function. If
the others are in the middle of their data, their next batch belongs to the same turn of the loop, which the odd ranks
have left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence import library_paths, stop_flags
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import children, last_name

_LOADER = frozenset({EventKind.NEXT, EventKind.STOP_ITERATION})


def left_behind(facts: Facts, compared: Comparison) -> tuple[BranchPoint, ...]:
    """What ended the library's loop that the odd ranks have left and the others go on with; empty if it is not known
    that they have, or what it was.

    That is what the job told it, if it sets a flag that ends the loop; else the loop's own end, if only flags that
    nobody sets lead to its jumps.
    """
    following, now = compared.reference_next, compared.odd_next
    where = library_paths.fork(compared.before, now, following)
    if where is None or now is None or following is None or not facts.is_library(where.file):
        return ()
    theirs, ours = _line_in(where, following), _line_in(where, now)
    loop = _loop_left(facts, where, theirs, ours) if theirs and ours else None
    if loop is None or not all(_amid_data(facts, rank, following) for rank in compared.reference):
        return ()
    return tuple(replace(point, shown=point.shown or now.site) for point in _ended_by(facts, where, loop))


def _ended_by(facts: Facts, where: Site, loop: ast.For) -> tuple[BranchPoint, ...]:
    """What the job told the loop, in a function of a library; else its end, if it has no jumps but those on flags."""
    jumps = [replace(where, line=line) for line in _conditions(loop)]
    asked = [BranchPoint(BranchKind.CONDITION, EdgeKind.YES, site, facts.statement(site)) for site in jumps]
    told = {p.place: p for one in asked for p in stop_flags.told_by_job(facts, one, leaves=True)}
    if told:
        return tuple(told.values())
    if not all(stop_flags.flags(facts, site) for site in jumps):
        return ()
    head = replace(where, line=loop.lineno)
    return (BranchPoint(_kind(loop), EdgeKind.END, head, facts.statement(head)),)


def _line_in(where: Site, step: HistoryStep) -> Site | None:
    """The step's line in the function where the ranks parted."""
    return next((one for one in step.path if (one.file, one.function) == (where.file, where.function)), None)


def _loop_left(facts: Facts, before: Site, theirs: Site, ours: Site) -> ast.For | None:
    """The outermost `for` around the others' line and the last common one that ends above the odd ranks' line."""
    loops = [node for node in enclosing.enclosing(facts.program, theirs) if isinstance(node, ast.For)]
    left = [node for node in loops if _spans(node, before.line) and (node.end_lineno or node.lineno) < ours.line]
    return min(left, key=lambda node: node.lineno, default=None)


def _spans(node: ast.For, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _kind(loop: ast.For) -> BranchKind:
    counts = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in ("range", "trange")
    return BranchKind.COUNT if counts else BranchKind.DATA


def _conditions(loop: ast.For) -> tuple[int, ...]:
    """The lines of the innermost statements around the loop's own `break`s."""
    return tuple(dict.fromkeys(line for statement in loop.body for line in _breaks(statement, statement.lineno)))


def _breaks(node: ast.AST, around: int) -> Iterator[int]:
    if isinstance(node, ast.Break):
        yield around
    if isinstance(node, (*enclosing.LOOPS, *enclosing.FUNCTIONS, ast.ClassDef)):
        return  # a jump in it is its own
    inner = node.lineno if isinstance(node, (ast.If, ast.ExceptHandler)) else around
    for child in children(node):
        yield from _breaks(child, inner)


def _amid_data(facts: Facts, rank: Rank, batch: HistoryStep) -> bool:
    """Whether the rank's newest batch from there was not the first of its iterator: it has begun no other epoch.

    Either the rank has made one iterator only; or those that it drew in a row are no whole number of epochs and one.
    """
    counters, history = facts.counters(rank), facts.histories.get(rank)
    count = next((one for one in counters.loaders if one.site == batch.site), None) if counters else None
    if batch.kind is not EventKind.NEXT or count is None or history is None:
        return False
    if count.made == 1:
        return count.delivered > 1
    drawn = [step for step in history.steps if step.kind in _LOADER and step.site == batch.site]
    in_row = next((number for number, step in enumerate(reversed(drawn)) if step != batch), len(drawn))
    if not in_row or not count.length or (in_row == len(drawn) and history.truncated):
        return False
    return (in_row - 1) % count.length != 0
