"""How many updates of the optimizer a training makes, as its own loop counts them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import dotted, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

#: what says that a batch is not yet one of the last before an update, where several batches are gathered
_GATHERING = frozenset({"accumulate", "gradient_accumulation_steps", "GradientAccumulationPlugin"})
#: the attribute of an Accelerator that says that this batch ends in an update
_UPDATES = "sync_gradients"


def limit(facts: ModuleFacts, made: CallEvent) -> tuple[SourceSite, ast.expr] | None:
    """Where a loop of this file ends after as many updates as a call is given, and what both are told; None where
    that is computed."""
    module, node = _here(facts, made)
    if node is None:
        return None
    for value in (*node.args, *(keyword.value for keyword in node.keywords)):
        text = text_of(value) if len(dotted(value)) > 0 else ""
        if text and not _computed(module, text):
            end = next(_ends(module, text, node), None)
            if end is not None:
                return site_of(module, end), value
    return None


def _here(facts: ModuleFacts, made: CallEvent) -> tuple[Module, ast.Call | None]:
    """The call of this file by which something is made, itself or in a function of another file."""
    place = facts.place(made)
    calls = (node for node in facts.module.of(ast.Call) if node.lineno == place.line)
    return facts.module, next((node for node in calls if site_of(facts.module, node) == place), None)


def _computed(module: Module, text: str) -> bool:
    """Whether the number is not plainly given, but computed somewhere, perhaps of the batches of all ranks."""
    assigned = [n for n in module.nodes if text in map(text_of, _targets(n))]
    plain = len(assigned) < 2 and all(isinstance(n, ast.Assign) and _is_given(n.value) for n in assigned)
    return not plain or ("." in text and bool(assigned))


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _is_given(value: ast.expr) -> bool:
    return bool(dotted(value)) or isinstance(value, ast.Constant)


def _ends(module: Module, text: str, node: ast.Call) -> Iterator[ast.expr]:
    """The conditions under which loops end that come later, and count up to it by one for each update."""
    loops: list[ast.For | ast.While] = [*module.of(ast.For), *module.of(ast.While)]
    for loop in loops:
        if loop.lineno > node.lineno:
            tests = [test for n in walk(loop) if isinstance(n, ast.If) for test in _leaving(n)]
            tests += [loop.test] if isinstance(loop, ast.While) else []
            yield from (test for test in tests if _counts_to(test, text) and _by_updates(module, loop, test))


def _leaving(node: ast.If) -> Iterator[ast.expr]:
    """The condition under which it leaves the loop, on whichever side that is."""
    test = node.test
    if isinstance(node.body[-1], (ast.Break, ast.Return)):
        yield test
    elif node.orelse and isinstance(node.orelse[-1], (ast.Break, ast.Return)) and isinstance(test, ast.UnaryOp):
        yield test.operand


def _counts_to(test: ast.expr, text: str) -> bool:
    """`counter >= text`, `counter < text`"""
    if not isinstance(test, ast.Compare) or len(test.comparators) != 1 or not isinstance(test.left, ast.Name):
        return False
    return isinstance(test.ops[0], (ast.GtE, ast.Eq, ast.Lt)) and text_of(test.comparators[0]) == text


def _by_updates(module: Module, loop: ast.For | ast.While, test: ast.expr) -> bool:
    """Whether the counter of a condition is one of updates: it goes up where batches end in one, or each batch does."""
    counter = test.left.id if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) else ""
    if not _counted(loop, counter):
        return False
    under = (n for n in walk(loop) if isinstance(n, ast.If) and _UPDATES in _words(n.test))
    return any(_counted(n, counter) for n in under) or _GATHERING.isdisjoint(module.words)


def _counted(node: ast.AST, counter: str) -> bool:
    """Whether one is added to the counter there."""
    return any(
        isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add) and text_of(n.target) == counter
        and isinstance(n.value, ast.Constant) and n.value.value == 1
        for n in walk(node)
    )  # fmt: skip


def _words(test: ast.expr) -> set[str]:
    return {n.attr for n in walk(test) if isinstance(n, ast.Attribute)}
