"""Loops that reduce only the parameters that have a gradient, of which one side has fewer."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk


@dataclass(frozen=True, slots=True)
class MissingGradient:
    """Ranks that reduced fewer gradients in a loop, and the condition that leaves parameters without one out."""

    fewer: RankSet
    more: RankSet
    call: HistoryStep
    condition: Site


def missing_gradient(facts: Facts, divergence: Divergence) -> MissingGradient | None:
    """Whether one side is in the loop's reduction again, and the other went on after the same one."""
    sides = (
        (divergence.odd_next, divergence.reference_next, divergence.odd, divergence.reference),
        (divergence.reference_next, divergence.odd_next, divergence.reference, divergence.odd),
    )
    before = divergence.diff.before
    for call, other, more, fewer in sides:
        if call is None or call.kind is not EventKind.CALL or call.site is None or before is None:
            continue
        loop = enclosing.enclosing_loop(facts.program, call.site)
        if loop is None or not _inside(before, call.site, loop) or _inside(other, call.site, loop):
            continue
        condition = _asks_for_gradient(facts, call.site)
        if condition is not None:
            return MissingGradient(fewer, more, call, condition)
    return None


def _inside(step: HistoryStep | None, call: Site, loop: enclosing.Span) -> bool:
    return step is not None and any(
        one.file == call.file and one.line in loop for one in (*step.path, step.site) if one
    )


def _asks_for_gradient(facts: Facts, call: Site) -> Site | None:
    """The condition in the function of the call that tests whether a parameter has a gradient."""
    around = enclosing.function_around(facts.program, call) or facts.program.tree(call.file)
    for node in walk(around) if around else ():
        tests = [node.test] if isinstance(node, (ast.If, ast.IfExp)) else getattr(node, "ifs", [])
        if found := next((test for test in tests if _tests_gradient(test)), None):
            return replace(call, line=found.lineno)
    return None


def _tests_gradient(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in walk(test))
