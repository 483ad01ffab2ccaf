"""Whether what is made of random numbers comes to a call, by the names that a function gives it on the way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import site_of

#: methods that put their argument into their object
_KEEPING = frozenset({"append", "extend", "add", "put", "copy_"})


def comes_to(facts: ModuleFacts, draw: CallEvent, other: CallEvent) -> bool:
    """Whether the other call is given something that is computed from what is drawn, as far as the function shows that
    leads to both."""
    ways = (*draw.context.chain, draw.site), (*other.context.chain, other.site)
    parted = next(((a, b) for a, b in zip(*ways, strict=False) if a != b), None)
    module = blocks.module_of(facts, parted[0]) if parted is not None and parted[0].file == parted[1].file else None
    if parted is None or module is None:
        return False
    nodes = walk(innermost_function(module.tree, parted[0].line) or module.tree)
    calls = {site_of(module, node): node for node in nodes if isinstance(node, ast.Call)}
    begin, end = (calls.get(site) for site in parted)
    return begin is not None and end is not None and _is_given(nodes, begin, end)


def _is_given(nodes: list[ast.AST], begin: ast.Call, end: ast.Call) -> bool:
    inside = walk(end)
    return begin in inside or not _names(inside).isdisjoint(_made_of(nodes, begin))


def _made_of(nodes: list[ast.AST], begin: ast.Call) -> set[str]:
    """The names of what is computed from the result of a call."""
    steps = [step for node in nodes for step in _steps(node)]
    found = {name for names, parts in steps if begin in parts for name in names}
    while True:
        more = {name for names, parts in steps if not _names(parts).isdisjoint(found) for name in names}
        if more <= found:
            return found
        found |= more


def _steps(node: ast.AST) -> Iterator[tuple[set[str], list[ast.AST]]]:
    """The names that a statement gives something, or puts it into, with the parts of what that is."""
    if isinstance(node, ast.Assign):
        yield {name for target in node.targets for name in _names(walk(target))}, walk(node.value)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        yield _names(walk(node.target)), walk(node.value)
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield _names(walk(node.target)), walk(node.iter)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        yield _names(walk(node.func.value)), [part for given in node.args for part in walk(given)]


def _names(nodes: list[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)} - {"self"}
