"""Tensors with the rows of all samples of a rank's batch, which the project's own function has put one after the other:
as many as each sample has."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ddpdoctor.lint.facts import loaders, own_sizes
from ddpdoctor.lint.facts.empty_batches import collate_of
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values.abstract_objects import Instance, Items
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.values import Value, symbol_key, unknown
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of

_JOINING = frozenset({"cat", "concat", "concatenate", "vstack"})
_JOINING_PATHS = frozenset(f"torch.{name}" for name in _JOINING)
#: parts of a batch by the identity of the value, with the place where their rows are put together
Joined: TypeAlias = "Mapping[int | None, SourceSite]"


def of_batches(facts: ModuleFacts) -> Joined:
    """The parts of batches whose rows are those of all samples, one after the other."""
    found: dict[int | None, SourceSite] = {}
    for iteration in facts.iterations:
        over = iteration.loop.over
        loader = loaders.loader_of(over)
        collate = collate_of(loader) if loader is not None else None
        element = iterated_of(over)[1] if over is not None and collate is not None else None
        if collate is not None and element is not None:
            for position, part in enumerate(_parts(collate)):
                if _joins_samples(collate, part):
                    found[symbol_key(unknown("part", element.atoms, position))] = site_of(collate.module, part)
    return found


def _parts(function: FunctionInfo) -> list[ast.expr]:
    """What a function returns as a tuple, if it returns at one place."""
    returned = [node.value for node in walk(function.node) if isinstance(node, ast.Return)]
    only = returned[0] if len(returned) == 1 else None
    return only.elts if isinstance(only, ast.Tuple) else []


def _joins_samples(collate: FunctionInfo, part: ast.expr) -> bool:
    """Whether it is `torch.cat(rows)` of one entry of all samples: `questions, rows = zip(*samples)`."""
    if not isinstance(part, ast.Call) or last_name(part.func) not in _JOINING or len(part.args) != 1 or part.keywords:
        return False
    columns = {
        name.id
        for node in walk(collate.node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and last_name(node.value.func) == "zip"
        for target in node.targets for name in walk(target) if isinstance(name, ast.Name)
    }  # fmt: skip
    return isinstance(part.args[0], ast.Name) and part.args[0].id in columns


def behind(facts: ModuleFacts, joined: Joined, value: Value) -> SourceSite | None:
    """Where the rows of a tensor are put together: as it is, beside others, or as a wrapped network has answered it."""
    for one in _joined_of(value):
        found = joined.get(symbol_key(one))
        if found is not None:
            return found
        for call in facts.methods("__call__"):
            if not wrapping.is_wrapped(call.receiver):
                continue
            for argument in _answered(facts, call, one):
                places = (joined.get(symbol_key(part)) for part in _joined_of(argument))
                found = next((place for place in places if place is not None), None)
                if found is not None:
                    return found
    return None


def _joined_of(value: Value) -> tuple[Value, ...]:
    """What a tensor was before it was moved, and of one that was put together of several, what these were."""
    kept = own_sizes.kept_of(value)
    path, of = own_sizes.made_of(kept)
    if path not in _JOINING_PATHS or of is None or not isinstance(of.object, Items):
        return (kept,)
    return tuple(map(own_sizes.kept_of, of.object.items))


def _answered(facts: ModuleFacts, call: CallEvent, value: Value) -> Iterator[Value]:
    """What a network was given of which it computes a value that it returns in a tuple, row by row."""
    wrapper = wrapping.wrapper_of(call.receiver)
    network = wrapper.argument(0, "module") if wrapper is not None else None
    obj = network.object if network is not None else None
    forward = find_method(facts.analysis, obj.info, "forward") if isinstance(obj, Instance) else None
    for position, part in enumerate(_parts(forward)) if forward is not None else ():
        if forward is None or symbol_key(unknown("part", call.result.atoms, position)) != symbol_key(value):
            continue
        names = _computed_of(forward, part)
        for parameter, given in zip(forward.parameters[1:], call.args, strict=False):
            if parameter.arg in names:
                yield given


def _computed_of(forward: FunctionInfo, part: ast.expr) -> set[str]:
    """The variables and parameters of which a part of the answer is computed; none if something on the way makes one
    number of all rows."""
    names: set[str] = set()
    waiting: list[ast.expr] = [part]
    assigned = [node for node in walk(forward.node) if isinstance(node, ast.Assign)]
    while waiting:
        nodes = walk(waiting.pop())
        called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
        if any(name in vocabulary.REDUCING or "loss" in name for name in called):
            return set()
        more = {node.id for node in nodes if isinstance(node, ast.Name)} - names
        names |= more
        waiting += [a.value for a in assigned if any(isinstance(t, ast.Name) and t.id in more for t in a.targets)]
    return names
