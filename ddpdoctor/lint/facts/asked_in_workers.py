"""Ranks that a data set asks for in the workers of its loader."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import worker_splits
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Function, Instance, LocalModule, Made
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import dotted, walk
from ddpdoctor.program.sites import SourceSite, site_of

#: ways to start a process in which nothing is left of what the process before had made
_ANEW = frozenset({"spawn", "forkserver"})
_RANKS = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})
#: what also a new process can find the rank by, or be given a process group
_OTHERWISE = frozenset({"environ", "getenv", "init_process_group"})
#: functions that call one another
_DEPTH = 4


def start_anew(facts: ModuleFacts, loader: Made) -> bool:
    """Whether a loader has workers, or may have some, that begin without a process group."""
    workers = loader.argument(5, "num_workers")
    if workers is None or (workers.known and not workers.constant) or loader.argument(8, "worker_init_fn") is not None:
        return False
    given = _contexts(facts, loader)
    if not given:
        starts = (call.argument(0, "method") for call in facts.methods("set_start_method"))
        named = (call.argument(0, "method") for call in facts.named(*_SETTING))
        return any(value is not None and value.constant in _ANEW for value in (*starts, *named))
    return any(isinstance(n, ast.Constant) and n.value in _ANEW for value in given for n in walk(value))


def _contexts(facts: ModuleFacts, loader: Made) -> list[ast.expr]:
    """What a loader is told of how its workers start, as it is written there or where a variable gets it."""
    written = [k.value for k in loader.node.keywords if k.arg == "multiprocessing_context"] if loader.node else []
    return [value for node in written for value in (node, *_assigned(facts, loader.site, node))]


def _assigned(facts: ModuleFacts, place: SourceSite, node: ast.expr) -> list[ast.expr]:
    """What a file gives to a variable that is read there: `context = "spawn" if workers else None`."""
    module = next((module for module in facts.modules if module.path == place.file), None)
    if module is None or not isinstance(node, ast.Name):
        return []
    assignments = (one for one in module.of(ast.Assign) if one.lineno <= place.line)
    return [one.value for one in assignments if any(isinstance(t, ast.Name) and t.id == node.id for t in one.targets)]


_SETTING = ("multiprocessing.set_start_method", "torch.multiprocessing.set_start_method")


def ranks(facts: ModuleFacts, dataset: Value) -> SourceSite | None:
    """Where the stream of a data set first asks the process group for the rank or the number of ranks, and does more
    with it than to tell it."""
    begins = find_method(facts.analysis, dataset.object.info, "__iter__")
    if begins is None:
        return None
    stream = worker_splits.Stream(facts.analysis, dataset, dataset.object)
    asked = _asked(facts, dataset.object, begins, ())
    return next((site_of(at.module, node) for at, node in asked if stream.computes(node)), None)


def _asked(
    facts: ModuleFacts, dataset: Instance, function: FunctionInfo, stack: tuple[FunctionInfo, ...]
) -> Iterator[tuple[FunctionInfo, ast.Call]]:
    if function in stack or len(stack) >= _DEPTH:
        return
    for node in walk(function.node):
        if not isinstance(node, ast.Call):
            continue
        called = _own_method(facts, dataset, node)
        if called is not None:
            yield from _asked(facts, dataset, called, (*stack, function))
        elif _asks(facts, function, node):
            yield function, node


def _own_method(facts: ModuleFacts, dataset: Instance, node: ast.Call) -> FunctionInfo | None:
    path = dotted(node.func)
    return find_method(facts.analysis, dataset.info, path[1]) if len(path) == 2 and path[0] == "self" else None


def _asks(facts: ModuleFacts, function: FunctionInfo, node: ast.Call) -> bool:
    """Whether a call asks the process group, itself or in a function of the project that does nothing else."""
    if aliases.canonical(function.module.imported(node.func)) in _RANKS:
        return _OTHERWISE.isdisjoint(_words(function))
    helper = _helper(facts, function, dotted(node.func))
    if helper is None or not _OTHERWISE.isdisjoint(_words(helper)):
        return False
    inside = (n for n in walk(helper.node) if isinstance(n, ast.Call))
    return any(aliases.canonical(helper.module.imported(n.func)) in _RANKS for n in inside)


def _helper(facts: ModuleFacts, function: FunctionInfo, path: list[str]) -> FunctionInfo | None:
    """The function of the project that is called so: by its name, or by that of its file and its own."""
    value = global_value(facts.analysis, function.module, path[0]) if 0 < len(path) <= 2 else None
    if value is not None and len(path) == 2:
        value = global_value(facts.analysis, value.object.module, path[1]) if _is_file(value) else None
    return value.object.info if value is not None and isinstance(value.object, Function) else None


def _is_file(value: Value) -> bool:
    return isinstance(value.object, LocalModule)


def _words(function: FunctionInfo) -> set[str]:
    nodes = walk(function.node)
    return {n.id if isinstance(n, ast.Name) else n.attr for n in nodes if isinstance(n, (ast.Name, ast.Attribute))}
