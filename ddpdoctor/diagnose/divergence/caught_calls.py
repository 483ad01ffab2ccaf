"""Calls within a `try` whose exception is caught, where nothing but an exception leads past what they do."""

from __future__ import annotations

import ast

from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence import library_paths
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk

_JUMPS = (ast.Return, ast.Continue, ast.Break)
_CHOICES = (ast.If, ast.While, ast.For, ast.AsyncFor, ast.Match)


def caught_around(facts: Facts, compared: Comparison) -> tuple[BranchPoint, ...]:
    """The only handler on the reference ranks' way to their next step that can have let the odd ranks go on without
    it; nothing if a condition on that way can have done so.
    """
    following, now = compared.reference_next, compared.odd_next
    where = library_paths.fork(following, now)
    if following is None or where is None:
        return ()
    path = following.path[: following.path.index(where) + 1]
    own = [frame for frame in path if not facts.is_library(frame.file)]
    handlers = [handler for frame in own for handler in _handlers(facts, frame)]
    if len(handlers) != 1 or any(_passes(facts, frame, frame == where) for frame in own):
        return ()
    return tuple(BranchPoint(BranchKind.EXCEPTION, EdgeKind.RAISED, one, facts.statement(one)) for one in handlers)


def perhaps_caught(facts: Facts, compared: Comparison, loop: Site) -> tuple[Site, ...]:
    """The handlers within a turn of the loop at this place that could have let the odd ranks go on without the
    reference ranks' next step."""
    own = _on_the_way(facts, compared)
    return tuple(
        handler for frame in own for handler in _handlers(facts, frame) if _inside(facts, frame, handler, loop)
    )


def only_caught(facts: Facts, compared: Comparison, loop: Site) -> Site | None:
    """The only such handler, if no condition leads past the step in a turn of that loop."""
    handlers = perhaps_caught(facts, compared, loop)
    for frame in _on_the_way(facts, compared):
        around = any(span.first == loop.line for span in enclosing.enclosing_loops(facts.program, frame))
        its = frame.file == loop.file and around
        if _passes(facts, frame, its):
            return None
        if its:
            return handlers[0] if len(handlers) == 1 else None
    return None


def _on_the_way(facts: Facts, compared: Comparison) -> tuple[Site, ...]:
    """The job's own lines on the reference ranks' way to their next step, innermost first, from where both sides
    part."""
    following = compared.reference_next
    if following is None or following.site is None:
        return ()
    where = library_paths.fork(following, compared.odd_next)
    path = following.path[: following.path.index(where) + 1] if where else (following.site,)
    return tuple(frame for frame in path if not facts.is_library(frame.file))


def _inside(facts: Facts, frame: Site, handler: Site, loop: Site) -> bool:
    """Whether a handler around the line is one of a turn: in the loop, or in a function that is called there."""
    if frame.file != loop.file:
        return True
    loops = enclosing.enclosing_loops(facts.program, frame)
    around = [span for span in loops if span.first == loop.line]
    return not around or all(handler.line in span for span in around)


def _handlers(facts: Facts, frame: Site) -> list[Site]:
    """Handlers around the line, in its function, that can end without raising again."""
    around = enclosing.enclosing(facts.program, frame)
    tries = [
        node
        for node in around
        if isinstance(node, ast.Try) and any(part.lineno <= frame.line <= _end(part) for part in node.body)
    ]
    return [
        Site(frame.file, handler.lineno, frame.function)
        for node in tries
        for handler in node.handlers
        if not isinstance(handler.body[-1], ast.Raise)
    ]


def _passes(facts: Facts, frame: Site, shared: bool) -> bool:
    """Whether a condition leads past the line in its function, or in this round of the loop that the sides share."""
    around = enclosing.enclosing(facts.program, frame)
    loops = [n for n, node in enumerate(around) if isinstance(node, enclosing.LOOPS)]
    inner = around[loops[-1] + 1 :] if shared and loops else around
    function = enclosing.function_around(facts.program, frame)
    if any(isinstance(node, _CHOICES) for node in inner):
        return True
    within = around[loops[-1]] if shared and loops else function
    return any(isinstance(node, _JUMPS) and node.lineno < frame.line for node in walk(within)) if within else False


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
