"""How ranks that decide differently in a turn of a loop may still run the same collectives: reasons for doubt in a
divergence whose condition depends on data of one rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.program.enclosing import LOOPS, statements_around
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite


def circumstance(facts: ModuleFacts, item: CollectiveDivergence) -> str:
    """What the divergence rests on, as the beginning of a message; "" if nothing speaks against it."""
    module = blocks.module_of(facts, item.branch.site)
    around = statements_around(module.tree, item.branch.site.line) if module is not None else []
    if item.exit is not None and _in_the_last_turn(around):
        return "unless it is the last turn of the loop in which this runs, "
    if item.exit is not None and item.exit.kind == "continue" and _counts_whole_turns(around, item.exit.site):
        return "unless ranks that skip a turn meet the others in a later one, which the loop waits for, "
    if item.branch.tags & Tag.BATCH and heuristics.SAYS_WHERE.found_in(item.branch.text):
        return "unless the batches of all ranks say so in the same turn, "
    if item.branch.tags & (Tag.DDP | Tag.DETACHED) and not item.branch.tags & Tag.BATCH:
        return "unless the ranks' outputs are gathered where the loss is computed, "
    if item.branch.tags & Tag.BATCH and any(map(_gathers, facts.modules)):
        return "unless it comes from a network that gathers what it returns, "
    return ""


def _in_the_last_turn(around: list[ast.stmt]) -> bool:
    """Whether a condition around asks for one turn by its number, compared with how many there are."""
    loop = next((node for node in reversed(around) if isinstance(node, ast.For)), None)
    if loop is None:
        return False
    counted, inside = _names(loop.target), around[around.index(loop) + 1 :]
    tests = (part for node in inside if isinstance(node, ast.If) for part in _parts(node.test))
    return any(_is_number_of_last(part, counted) for part in tests)


def _names(node: ast.AST) -> set[str]:
    return {last_name(part) for part in walk(node) if isinstance(part, (ast.Name, ast.Attribute))}


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    yield from test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else (test,)


def _is_number_of_last(test: ast.expr, counted: set[str]) -> bool:
    """`index + 1 == len(loader)`, or another name for how many there are."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = _names(test.left), _names(test.comparators[0])
    number = next((n for n, names in enumerate(sides) if names & counted), None)
    return number is not None and heuristics.NUMBERS_OF_TURNS.found_in_any(sides[1 - number])


def _counts_whole_turns(around: list[ast.stmt], left: SourceSite) -> bool:
    """Whether a loop around goes on until enough turns got to their ends, by a number that is raised behind the place
    where they are left."""
    for outer in (node for node in around if isinstance(node, ast.While)):
        counted = _names(outer.test)
        raised = (node for node in walk(outer) if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add))
        inner = any(isinstance(node, LOOPS) for node in around[around.index(outer) + 1 :])
        if inner and any(last_name(node.target) in counted and node.lineno > left.line for node in raised):
            return True
    return False


@once
def _gathers(module: Module) -> bool:
    """Whether a network of the file gathers in its forward pass."""
    forwards = (info.methods["forward"].node for info in module.classes if "forward" in info.methods)
    return any(
        heuristics.GATHERS.found_in(last_name(node.func))
        for forward in forwards
        for node in walk(forward)
        if isinstance(node, ast.Call)
    )
