"""Evaluations: loops over loaders that compute without gradients, the functions that they are in, and their words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import batches
from ddpdoctor.lint.interpreter.events import CallEvent, Context, Iteration
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite


def evaluates(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether the loop computes without gradients, as a whole or in what it calls, and trains nothing."""
    if iteration.context.no_grad:
        return True
    inside = [call for call in facts.calls if _within(call.context, iteration)]
    return any(call.context.no_grad for call in inside) and not any(map(_trains, inside))


def trains(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether something trains that the loop calls. To clear gradients is no training by itself."""
    inside = [call for call in facts.methods(*vocabulary.TRAINING) if _within(call.context, iteration)]
    if all(call.method == "zero_grad" and _is_in_loop(call, iteration) for call in inside):
        return bool(inside) and not batches.only_clears(iteration.loop.node)
    return True


def _is_in_loop(call: CallEvent, iteration: Iteration) -> bool:
    return call.context.chain == iteration.context.chain


def _trains(call: CallEvent) -> bool:
    return call.method in vocabulary.TRAINING


def _within(context: Context, iteration: Iteration) -> bool:
    """Whether something happens in the loop, as it is reached here: one function may train and evaluate."""
    chain = iteration.context.chain
    around = any(loop.node is iteration.loop.node for loop in context.loops)
    return around and context.chain[: len(chain)] == chain


def functions(facts: ModuleFacts, iteration: Iteration) -> Iterator[tuple[SourceSite, ast.AST]]:
    """The function of the loop, or its file; of a generator that goes through the loader for another loop, also the
    function of that one. Each with the place of the loop in it."""
    for site in (iteration.loop.site, *reversed(iteration.context.chain)):
        module = blocks.module_of(facts, site)
        if module is None:
            return
        function = innermost_function(module.tree, site.line)
        yield site, function or module.tree
        if function is None or not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk(function)):
            return


def words(facts: ModuleFacts, iteration: Iteration) -> set[str]:
    """The names in the functions of the evaluation."""
    return {name for _, function in functions(facts, iteration) for name in _names(function)}


def words_of_called(facts: ModuleFacts, iteration: Iteration) -> set[str]:
    """The names in the functions that the evaluation calls, and in the classes whose methods these are; not in the
    samplers, which speak of what they repeat."""
    spans = [(site.file, *_lines(function)) for site, function in functions(facts, iteration)]
    called: dict[int, ast.AST] = {}
    for context in (call.context for call in facts.calls):
        info = context.function
        if info is None or not any(_is_in(site, *span) for site in context.chain for span in spans):
            continue
        if info.owner is None or "set_epoch" not in info.owner.methods:
            node = info.owner.node if info.owner is not None else info.node
            called[id(node)] = node
    return {name for node in called.values() for name in _names(node)}


def _is_in(site: SourceSite, file: str, first: int, last: int) -> bool:
    return site.file == file and first <= site.line <= last


def _lines(function: ast.AST) -> tuple[int, int]:
    """The first and the last line; of a file, all of them."""
    last: int | None = getattr(function, "end_lineno", None)
    return (getattr(function, "lineno", 1), last) if last is not None else (1, 1 << 30)


def _names(part: ast.AST) -> Iterator[str]:
    for node in walk(part):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
