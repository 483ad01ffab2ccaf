"""The `return` by which a function that ended early left the loop of its last recorded step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk


def early_return(facts: Facts, rank: Rank) -> Site | None:
    """The only `return` in a loop around the rank's last step; None if there is none, or several."""
    history = facts.histories.get(rank)
    path = history.steps[-1].path if history and history.steps else ()
    found = [site for frame in path if not facts.is_library(frame.file) for site in _returns(facts, frame)]
    return found[0] if len(found) == 1 else None


def _returns(facts: Facts, frame: Site) -> Iterator[Site]:
    """The `return` statements of the function inside the outermost of its loops around the line."""
    loops = enclosing.enclosing_loops(facts.program, frame)
    function = enclosing.function_around(facts.program, frame)
    if not loops or function is None:
        return
    span = max(loops, key=lambda loop: loop.last - loop.first)
    for node in walk(function):
        if isinstance(node, ast.Return) and node.lineno in span and node.lineno != frame.line:
            yield replace(frame, line=node.lineno)
