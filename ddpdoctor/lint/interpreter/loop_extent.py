"""How far a loop runs: endlessly, for a number of iterations, or over a share of the data chosen by rank."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.events import EnclosingLoop
from ddpdoctor.lint.interpreter.frame import Frame, decided_by
from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.data_partition import ENDLESS, by_rank
from ddpdoctor.lint.values.tags import Tag, Tags
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.program.nodes import walk


def loops(frame: Frame) -> list[EnclosingLoop]:
    """The loops of the function that runs, without those of its callers."""
    return [loop for loop in frame.loops if frame.function is not None and _inside(loop.node, frame.function.node)]


def endless(frame: Frame) -> bool:
    """Whether a `yield` is in an endless loop of the generator's own."""
    return any(_endless(loop) for loop in loops(frame))


def yields_share(frame: Frame) -> bool:
    """Whether a `yield` gives a share, or is under a condition that partitions by rank, in a generator that ends."""
    own = loops(frame)
    chosen = any(by_rank(guard.value) for guard in frame.guards[frame.entered :])
    shared = any(loop.over is not None and loop.over.tags & Tag.SHARD for loop in own)
    return (chosen or shared) and not any(_endless(loop) for loop in own)


def yields_several(frame: Frame, node: ast.Yield | ast.YieldFrom) -> bool:
    """Whether a `yield` gives more than one element for each one of a share, such as the samples of its files: then the
    numbers of elements differ by more than one; or for each one of what does so."""
    own = loops(frame)
    # windows of a share are no more than the share
    places = [i for i, loop in enumerate(own) if _is_over_share(loop) and not _is_counted(loop)]
    if not places:
        return False
    over = own[places[-1]].over
    inner = own[places[-1] + 1 :]
    unknown = [loop for loop in inner if not _is_counted(loop)]
    return bool(unknown) or isinstance(node, ast.YieldFrom) or (over is not None and bool(over.tags & Tag.BLOCK))


def _is_over_share(loop: EnclosingLoop) -> bool:
    return loop.over is not None and loop.over.tags & (Tag.SHARD | Tag.COUNTED) == Tag.SHARD


def _is_counted(loop: EnclosingLoop) -> bool:
    """Whether a loop has the same number of turns each time: `for crop in range(crops)`, `for view in (a, b)`."""
    obj = loop.over.object if loop.over is not None else None
    return isinstance(obj, Items) or (isinstance(obj, Made) and obj.path == "builtins.range")


def yields_apart(frame: Frame, node: ast.AST) -> Tags | None:
    """Tags of the ranks' own data that decide whether a generator yields here, or how often; None if no such data does,
    or if it yields something else otherwise."""
    counted = _turns_apart(frame)
    tags = decided_by(frame, node)
    if tags is None or frame.function is None:
        return counted
    line = getattr(node, "lineno", 0)
    around = [n for n in walk(frame.function.node) if isinstance(n, ast.If) and _inside(node, n)]
    both = any(_yields(n.body) and _yields(n.orelse) and n.lineno < line for n in around)
    return counted if both else tags


def _turns_apart(frame: Frame) -> Tags | None:
    """Tags of what a loop of the generator goes through, where that is as much as this rank's data decides: the batches
    that it has packed, or their numbers in another order."""
    for loop in loops(frame):
        over = loop.over
        if over is not None and is_uneven(over) and not limited(loop):
            return over.tags
    return None


def is_uneven(over: Value) -> bool:
    """Whether there are as many elements as this rank's data decides."""
    return over.taint is Taint.RANK_LOCAL and over.tags & (Tag.UNEVEN | Tag.FILLED_UP) == Tag.UNEVEN


def _yields(side: list[ast.stmt]) -> bool:
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for statement in side for n in walk(statement))


def _inside(node: ast.AST, function: ast.AST) -> bool:
    """Whether the node is inside, by line numbers: a caller's loop is elsewhere."""
    first, last = getattr(function, "lineno", 0), getattr(function, "end_lineno", 0) or 0
    return first <= getattr(node, "lineno", 0) <= last


def _endless(loop: EnclosingLoop) -> bool:
    node, obj = loop.node, loop.over.object if loop.over is not None else None
    if isinstance(node, ast.While):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    return isinstance(obj, Made) and obj.path in ENDLESS


def limited(loop: EnclosingLoop) -> bool:
    """Whether the loop ends after a number of iterations: `islice`, `zip(..., range(n))`, or a `break` of its own."""
    if loop.over is not None and loop.over.tags & Tag.CUT:
        return True
    return isinstance(loop.node, (ast.For, ast.While)) and any(_breaks(s) for s in loop.node.body)


def _breaks(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Break):
        return True
    if isinstance(statement, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
        return False
    inner = [c for c in ast.iter_child_nodes(statement) if isinstance(c, (ast.stmt, ast.ExceptHandler, ast.match_case))]
    return any(_breaks(c) if isinstance(c, ast.stmt) else any(_breaks(s) for s in c.body) for c in inner)
