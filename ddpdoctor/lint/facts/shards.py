"""Data shared out by rank so that ranks can get more or fewer elements than others."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts.things import Made
from ddpdoctor.lint.facts.values import WORLD, Value

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.events import Turn
    from ddpdoctor.lint.facts.frame import Frame

#: cut data into parts whose sizes differ where they must
_CUTTING = frozenset({"numpy.array_split", "torch.tensor_split", "torch.chunk", "?.tensor_split", "?.chunk"})


_ENDLESS = frozenset({"itertools.count", "itertools.cycle"})


def by_rank(condition: Value) -> bool:
    """`index % world_size == rank`: what it lets through is a share of the rank's own, of one more or one less."""
    return condition.tags >= {"rank", "world"} and not condition.known


def part_of(parts: Value, index: Value) -> bool:
    """`numpy.array_split(rows, world_size)[rank]`."""
    thing = parts.thing
    if not isinstance(thing, Made) or thing.path not in _CUTTING or "rank" not in index.tags:
        return False
    return any("world" in v.tags for v in (*thing.args, *(v for _, v in thing.keywords)))


def strided(over: Value, bounds: tuple[Value, ...]) -> bool:
    """`islice(lines, rank, None, world_size)` of something that comes to an end."""
    if len(bounds) != 3 or not bounds[1].known or bounds[1].constant is not None:
        return False
    endless = "endless" in over.tags or (isinstance(over.thing, Made) and over.thing.path in _ENDLESS)
    return "rank" in bounds[0].tags and "world" in bounds[2].tags and not endless


def rest_for_one(length: Value, upper: Value) -> bool:
    """`end = len(rows) if rank == world_size - 1 else start + part`: the last rank has the remainder as well."""
    last = upper.at(WORLD - 1)
    return len(upper.atoms) > 1 and last == length.atoms[0] and upper.at(0) != last


def endless(frame: Frame) -> bool:
    """A `yield` in a loop without end of the generator's own."""
    own = (turn for turn in frame.loops if frame.function is not None and _inside(turn.node, frame.function.node))
    return any(_endless(turn) for turn in own)


def yields_share(frame: Frame) -> bool:
    """A `yield` of a share, or under a condition that shares out by rank, in a generator that comes to an end."""
    own = [turn for turn in frame.loops if frame.function is not None and _inside(turn.node, frame.function.node)]
    chosen = any(by_rank(guard.value) for guard in frame.guards[frame.entered :])
    shared = any(turn.over is not None and "shard" in turn.over.tags for turn in own)
    return (chosen or shared) and not any(_endless(turn) for turn in own)


def _inside(node: ast.AST, function: ast.AST) -> bool:
    """By lines: a loop of a caller stands elsewhere."""
    first, last = getattr(function, "lineno", 0), getattr(function, "end_lineno", 0) or 0
    return first <= getattr(node, "lineno", 0) <= last


def _endless(turn: Turn) -> bool:
    node, thing = turn.node, turn.over.thing if turn.over is not None else None
    if isinstance(node, ast.While):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    return isinstance(thing, Made) and thing.path in _ENDLESS


def limited(turn: Turn) -> bool:
    """The loop ends after a number of turns: `islice`, `zip(..., range(n))`, or a `break` of its own."""
    if turn.over is not None and "cut" in turn.over.tags:
        return True
    return isinstance(turn.node, (ast.For, ast.While)) and any(_breaks(s) for s in turn.node.body)


def _breaks(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Break):
        return True
    if isinstance(statement, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
        return False
    inner = [c for c in ast.iter_child_nodes(statement) if isinstance(c, (ast.stmt, ast.ExceptHandler, ast.match_case))]
    return any(_breaks(c) if isinstance(c, ast.stmt) else any(_breaks(s) for s in c.body) for c in inner)
