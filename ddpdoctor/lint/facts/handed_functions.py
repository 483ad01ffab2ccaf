"""Functions with collectives that are handed to something whose calls are not known: a button, a server, an optimizer
of hyperparameters. Where they run, and how often, nothing shows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import FunctionNode, Module, once
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite

#: how deep the functions that a branch calls are looked through for what they hand on
_DEEPEST = 3


def handed_on(facts: ModuleFacts, branch: SourceSite, way: Iterable[SourceSite], op: str = "") -> str:
    """The function on the way to a place behind a branch that something under the branch is handed, and may call on the
    other ranks, or one of the file that runs the operation, too; "" if there is none: `study.optimize(objective)`,
    `bind(self.answer)`. On the side of the other ranks, what the functions hand on that it calls counts as well."""
    module = blocks.module_of(facts, branch)
    block = blocks.branch_at(module, branch) if module is not None else None
    if block is None or module is None:
        return ""
    way = [*way]
    names = _functions(facts, way) | (_running(module, op) if op else set())
    handed = (one.name for one in _handed_in(block))
    found = next((name for name in handed if name in names), "")
    return found or next((name for name in _handed_below(module, _others(module, block, way)) if name in names), "")


class Handed(NamedTuple):
    """A name that a call is given."""

    call: ast.Call
    name: str


def _handed_in(node: ast.AST) -> Iterator[Handed]:
    """The functions, perhaps, that calls in a part of the source are given."""
    for call in (part for part in walk(node) if isinstance(part, ast.Call)):
        yield from _given_to(call)


def _given_to(call: ast.Call) -> Iterator[Handed]:
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(given, ast.Name) or _of_an_object(given):
            yield Handed(call, last_name(given))
        elif isinstance(given, ast.Lambda):
            yield from (Handed(call, last_name(one.func)) for one in walk(given.body) if isinstance(one, ast.Call))


def handing(facts: ModuleFacts, function: str) -> list[CallEvent]:
    """The calls that are given a function of the file, if whatever names it is such a call; those that the script
    comes to, if it comes to one."""
    calls = [call for call in facts.calls if any(one.name == function for one in _given_to(call.node))]
    given = {id(node) for call in calls for node in walk(call.node)}
    own = (node for node in facts.module.of(ast.Attribute) if last_name(node.value) in ("self", "cls"))
    if any(last_name(node) == function and id(node) not in given for node in (*facts.module.of(ast.Name), *own)):
        return []
    return [call for call in calls if call.context.from_script] or calls


def _of_an_object(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def _others(module: Module, block: ast.If, way: Iterable[SourceSite]) -> list[ast.stmt]:
    """The statements that the ranks run which do not take the side of a branch with a place: the other side, and what
    comes behind the branch where those on the way do not go on."""
    lines = [site.line for site in way if site.file == module.path]
    sides = [side for side in (block.body, block.orelse) if not any(_is_in(line, side) for line in lines)]
    if len(sides) != 1 or block.orelse or not blocks.leaves(block.body[-1]):
        return [statement for side in sides for statement in side]
    scope = innermost_function(module.tree, block.lineno) or module.tree
    return [one for one in getattr(scope, "body", ()) if one.lineno > (block.end_lineno or block.lineno)]


def _is_in(line: int, side: list[ast.stmt]) -> bool:
    return bool(side) and side[0].lineno <= line <= (side[-1].end_lineno or 0)


def _handed_below(module: Module, statements: list[ast.stmt]) -> Iterator[str]:
    """What statements, and the functions of the file that they call, hand to what is not of the file."""
    own = {info.name: info.node for info in module.functions}
    left: list[tuple[ast.AST, int]] = [(statement, 0) for statement in statements]
    seen: set[str] = set()
    while left:
        node, depth = left.pop()
        yield from (one.name for one in _handed_in(node) if last_name(one.call.func) not in own)
        called = {last_name(part.func) for part in walk(node) if isinstance(part, ast.Call)} & own.keys() - seen
        seen |= called
        left += [(own[name], depth + 1) for name in sorted(called)] if depth < _DEEPEST else []


def _running(module: Module, op: str) -> set[str]:
    """The functions and methods of a file that call an operation."""
    return {function.name for function in _all_functions(module) if any(
        isinstance(call, ast.Call) and last_name(call.func) == op for call in walk(function))}  # fmt: skip


@once
def _all_functions(module: Module) -> list[FunctionNode]:
    return [*module.of(ast.FunctionDef), *module.of(ast.AsyncFunctionDef)]


def _functions(facts: ModuleFacts, sites: Iterable[SourceSite]) -> set[str]:
    """The names of the functions that these places are in."""
    modules = ((blocks.module_of(facts, site), site.line) for site in sites)
    functions = (innermost_function(module.tree, line) for module, line in modules if module is not None)
    return {f.name for f in functions if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))}
