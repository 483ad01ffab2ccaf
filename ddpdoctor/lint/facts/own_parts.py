"""What a rank has collected from its own part of the data, and no rank has gathered."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.facts import blocks, loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite

#: methods that put something more into a list
_ADDING = frozenset({"append", "extend"})
#: give this rank its part of some data, also where they are told its number
_FOR_THIS_RANK = frozenset({"split_between_processes"})
_BY_NUMBER = frozenset({"shard", "split_dataset_by_node"})
#: collectives after which each rank still has only its own results
_MEETING = frozenset({"barrier", "init_process_group", "wait_for_everyone"})


def collected(facts: ModuleFacts, call: CallEvent, contents: Iterable[ast.expr]) -> SourceSite | None:
    """The loop over data divided among the ranks that has collected what a call writes, in the same run of a function,
    where nothing between them may have gathered it."""
    module = blocks.module_of(facts, call.site)
    scope = innermost_function(module.tree, call.site.line) if module is not None else None
    loops = list(_divided(facts, call)) if module is not None and scope is not None else []
    if module is None or scope is None or not loops or _gathers(facts, call, scope):
        return None
    written = made_of(scope, {name for content in contents for name in names_in(content)})
    for loop in loops:
        if written & {name for node in walk(loop.node) for name in filled(node)}:
            return loop.site
    return None


def _divided(facts: ModuleFacts, call: CallEvent) -> Iterator[EnclosingLoop]:
    """The loops over a rank's part of the data in the run of a function that comes to the call."""
    for started in facts.iterations:
        over = started.loop.over
        beside = started.context.chain == call.context.chain and started.context.calls == call.context.calls
        if not beside or over is None or started.index > call.index:
            continue
        if over.tags & (Tag.PREPARED | Tag.SHARD) or loaders.sampler_of(over) is not None or is_share(over):
            yield started.loop


def is_share(value: Value) -> bool:
    """Whether it is what a library gives this rank of some data: `rows.shard(num_shards=ranks, index=rank)`."""
    made = value.object
    if not isinstance(made, Made):
        return False
    name = made.path.rpartition(".")[2]
    told = (*made.args, *(value for _, value in made.keywords))
    return name in _FOR_THIS_RANK or (name in _BY_NUMBER and any(value.tags & ANY_RANK for value in told))


def _gathers(facts: ModuleFacts, call: CallEvent, scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether a function runs a collective, or something that may be one by its name."""
    names = (last_name(node.func) for node in walk(scope) if isinstance(node, ast.Call))
    if heuristics.PUTS_TOGETHER.found_in_any(names):
        return True
    first, last = scope.lineno, scope.end_lineno or scope.lineno
    return any(
        item.op.op not in _MEETING and item.within(call.site.file, first, last) is not None for item in facts.reached
    )


def made_of(scope: ast.AST, names: set[str]) -> set[str]:
    """The variables, and those that they were made of in a function."""
    steps = [step for node in walk(scope) for step in _steps(node)]
    known = -1
    while known < len(names):
        known = len(names)
        names.update(name for targets, value in steps if targets & names for name in names_in(value))
    return names


def _steps(node: ast.AST) -> Iterator[tuple[set[str], ast.expr]]:
    if isinstance(node, ast.Assign):
        yield {target.id for target in node.targets if isinstance(target, ast.Name)}, node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield names_in(node.target), node.iter


def filled(node: ast.AST) -> Iterator[str]:
    """The variable to which a statement adds something."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
        yield from names_in(node.func.value)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    for target in targets:
        if isinstance(target, ast.Subscript) or isinstance(node, ast.AugAssign):
            yield from names_in(target.value if isinstance(target, ast.Subscript) else target)
