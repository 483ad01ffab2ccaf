"""Epochs that are told to `loader.sampler`, of loaders whose sampler is in their `batch_sampler`.

Such a loader makes a sampler itself, which nobody asks and which has no epochs. A condition on whether it has some
(`hasattr(loader.sampler, "set_epoch")`) never holds, and the sampler that gives the order hears nothing.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.values import loader_join
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of

_ASKED = frozenset({"hasattr", "isinstance"})


def found(facts: ModuleFacts, loader: Value | None) -> dict[ast.expr, SourceSite]:
    """Where the files tell the epoch to what such a loader has as its sampler, if that has epochs."""
    if not _has_batches(loader):
        return {}
    beside = loader_join.kept(loader, "sampler")
    calls = (call for call in facts.methods("set_epoch") if _is_beside(call, beside))
    by_name = ((module, node) for module in facts.modules for node in _unheard(module))
    return {**{call.node.func: call.site for call in calls}, **{node: site_of(m, node) for m, node in by_name}}


def has_none(sampler: Value | None) -> bool:
    """Whether it is certainly a sampler that has no epochs."""
    obj = sampler.object if sampler is not None else None
    return isinstance(obj, Made) and obj.path == loader_join.IN_ORDER


def _is_beside(call: CallEvent, sampler: Value | None) -> bool:
    """Whether the epoch is set of this sampler, where a condition asks for it."""
    asked = any(word in guard.text for guard in call.context.guards for word in _ASKED)
    given = call.receiver.object if call.receiver is not None else None
    return asked and sampler is not None and given is not None and given == sampler.object


def _unheard(module: Module) -> list[ast.Attribute]:
    """The same of loaders that are not in sight, by their names."""
    if "set_epoch" not in module.text:
        return []
    return [node for node in module.of(ast.Attribute) if node.attr == "set_epoch" and _is_of_loader(module, node)]


def _has_batches(loader: Value | None) -> TypeGuard[Value]:
    """Whether it is torch's loader, and a sampler of batches is given to it."""
    made = loader.object if loader is not None else None
    batches = made.argument(4, "batch_sampler") if isinstance(made, Made) else None
    return batches is not None and batches.object is not None


def _is_of_loader(module: Module, told: ast.Attribute) -> bool:
    """Whether it is the sampler of a loader whose epoch is set, if it has one."""
    function = innermost_function(module.tree, told.lineno)
    owner = told.value
    if isinstance(owner, ast.Name) and function is not None:
        stored = [n for n in walk(function) if isinstance(n, ast.Name) and n.id == owner.id]
        values = [n.value for n in walk(function) if isinstance(n, ast.Assign) and n.targets[0] in stored]
        if len(values) != 1 or sum(isinstance(n.ctx, ast.Store) for n in stored) != 1:
            return False
        owner = values[0]
    if not isinstance(owner, ast.Attribute) or owner.attr != "sampler":
        return False
    return heuristics.LOADERS.found_in(last_name(owner.value)) and _is_asked_for(module, told)


def _is_asked_for(module: Module, told: ast.Attribute) -> bool:
    """Whether it is set only where a condition asks for the method, or for a class."""
    tests = (n.test for n in blocks.around(module, site_of(module, told)) if isinstance(n, (ast.If, ast.IfExp)))
    return any(isinstance(n, ast.Call) and last_name(n.func) in _ASKED for test in tests for n in walk(test))
