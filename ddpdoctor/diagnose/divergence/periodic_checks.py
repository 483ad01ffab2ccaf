"""Conditions that hold every so many rounds: ranks that go round together decide them alike."""

from __future__ import annotations

import ast

from ddpdoctor.diagnose import conditions
from ddpdoctor.diagnose.divergence.loop_counters import counter_start
from ddpdoctor.diagnose.divergence.module_loops import goes_over_modules
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.dependence import DependsOn
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.program import Program

_SIMPLE = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp)


def decided_alike(facts: Facts, site: Site) -> bool:
    """Whether all ranks decide the condition alike, by its source or since it holds every so many rounds; a loop over
    the parts of a model is as long on all."""
    alike = conditions.decided_alike(facts, site) or periodic(facts, site)
    return alike or goes_over_modules(facts.program, site)


def periodic(facts: Facts, site: Site) -> bool:
    """Whether the condition holds every so many rounds, by a counter that nothing shows to differ between ranks."""
    dependence = conditions.depends_on(facts, site)
    if dependence is not None and dependence.on not in (DependsOn.UNKNOWN, DependsOn.UNIFORM):
        return False
    return asks_periodic(facts.program, site) and counter_start(facts, site) is None


def asks_periodic(program: Program, site: Site) -> bool:
    """Whether the `if` on this line tests only whether a counter is due: `step % every == 0`, `not (n + 1) % 10`."""
    tree = program.tree(site.file)
    nodes = walk(tree) if tree else ()
    test = next((node.test for node in nodes if isinstance(node, ast.If) and node.lineno == site.line), None)
    return test is not None and _due(test) and any(_takes_remainder(node) for node in walk(test))


def _takes_remainder(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def _due(test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(values=parts):
            return all(_due(part) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return _due(part)
        case ast.Compare(left=left, comparators=others):
            return all(_counts(part) for part in (left, *others))
    return _counts(test)


def _counts(expression: ast.expr) -> bool:
    """Whether it is arithmetic of names and numbers alone."""
    return all(isinstance(node, _SIMPLE) for node in walk(expression))
