"""Where a function that ended early left the loop of its last recorded step: a `return`, or the loop itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk


def early_return(facts: Facts, rank: Rank) -> Site | None:
    """The only `return` in a loop around the rank's last step; None if there is none, or several."""
    history = facts.histories.get(rank)
    path = history.steps[-1].path if history and history.steps else ()
    found = [site for frame in path if not facts.is_library(frame.file) for site in _returns(facts, frame)]
    return found[0] if len(found) == 1 else None


def left_loop(facts: Facts, rank: Rank, others: RankSet) -> Site | None:
    """The head of the loop around the rank's last step if one of the others is still in that loop; else None."""
    history = facts.histories.get(rank)
    path = history.steps[-1].path if history and history.steps else ()
    own = next((frame for frame in path if not facts.is_library(frame.file)), None)
    loop = enclosing.enclosing_loop(facts.program, own) if own else None
    if own is None or loop is None:
        return None
    inside = (frame for other in others for frame in facts.stack(other))
    here = any(frame.file == own.file and frame.line in loop for frame in inside)
    return replace(own, line=loop.first) if here else None


def _returns(facts: Facts, frame: Site) -> Iterator[Site]:
    """The `return` statements inside the outermost of the function's loops around the line, that something decided.

    One that simply follows the line ends every rank's turn: a launcher's child that has run its script.
    """
    loops = enclosing.enclosing_loops(facts.program, frame)
    function = enclosing.function_around(facts.program, frame)
    if not loops or function is None:
        return
    span = max(loops, key=lambda loop: loop.last - loop.first)
    for node in walk(function):
        if isinstance(node, ast.Return) and node.lineno in span and node.lineno != frame.line:
            site = replace(frame, line=node.lineno)
            if _decisions(facts, site) - _decisions(facts, frame):
                yield site


def _decisions(facts: Facts, site: Site) -> set[ast.stmt]:
    """The first statements of the blocks around the line that do not always run."""
    blocks = [block for node in enclosing.around(facts.program, site) for block in _blocks(node)]
    return {block[0] for block in blocks if block and block[0].lineno <= site.line <= (block[-1].end_lineno or 0)}


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    if isinstance(node, ast.If | ast.For | ast.While):
        return [node.body, node.orelse]
    return [node.body] if isinstance(node, ast.ExceptHandler) else []
