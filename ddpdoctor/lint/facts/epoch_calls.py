"""Calls of `set_epoch` in the files that a script uses: which samplers get the epoch, and where."""

from __future__ import annotations

import ast
from enum import Enum

from ddpdoctor.lint.facts import blocks, loaders, unheard_epochs
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop, Iteration
from ddpdoctor.lint.knowledge import aliases, packages
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.values import Symbol, Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk


class EpochSet(Enum):
    """Where a sampler's epoch is set."""

    NEVER = "never"
    #: only of a sampler that the loader has beside it
    UNHEARD = "unheard"
    #: only where the epoch loop does not repeat it
    OUTSIDE = "outside the loop"
    #: in each epoch, or by something that probably does so
    IN_LOOP = "in the loop"


def epoch_set(facts: ModuleFacts, iteration: Iteration, sampler: Made) -> EpochSet:
    """Whether a loop around the loader's own sets the sampler's epoch in each iteration."""
    if _counts(facts, iteration.loop.over):
        return EpochSet.IN_LOOP
    calls = _calls(facts)
    beside = unheard_epochs.found(facts, iteration.loop.over)
    uses = (call for node in _mentions(facts) if node not in beside for call in calls.get(id(node), [None]))
    lazy = _is_lazy(facts, iteration)
    told = {_told(call, iteration, sampler, lazy=lazy) for call in uses}
    if EpochSet.IN_LOOP in told:
        return EpochSet.IN_LOOP
    if EpochSet.OUTSIDE in told:
        return EpochSet.OUTSIDE
    if _by_a_hook(facts):
        return EpochSet.IN_LOOP
    return EpochSet.UNHEARD if beside else EpochSet.NEVER


def _told(call: CallEvent | None, iteration: Iteration, sampler: Made, *, lazy: bool) -> EpochSet:
    """Where one use of the method sets the sampler's epoch; in the loop, too, where it is not known what it sets."""
    receiver = call.receiver if call is not None else None
    one = _sampler(receiver)
    if unheard_epochs.has_none(receiver) or (one is not None and one.site != sampler.site):
        return EpochSet.NEVER
    if call is None or one is None:
        return EpochSet.IN_LOOP
    around = {loop.node for loop in iteration.context.loops}
    inside = any(loop.node in around for loop in call.context.loops) or (lazy and _in_turns(call))
    return EpochSet.IN_LOOP if inside else EpochSet.OUTSIDE


def _by_a_hook(facts: ModuleFacts) -> bool:
    """Whether a file that is only imported sets an epoch, in what it registers."""
    others = (module for module in facts.imported if module.path not in facts.analysis.reached)
    return any(map(_named_in, others))


def another_is_told(facts: ModuleFacts, epochs: EnclosingLoop, sampler: Made) -> bool:
    """Whether the epoch loop sets the epoch of another sampler: the one of the data that it trains on."""
    told = (c for c in facts.methods("set_epoch") if any(loop.node is epochs.node for loop in c.context.loops))
    others = (one for call in told if (one := _sampler(call.receiver)) is not None)
    return any(other.site != sampler.site for other in others)


def _is_lazy(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether the loader is gone through again and again by a generator, which goes on only where somebody takes the
    next element: a loop that takes them can tell the sampler in between."""
    site = iteration.loop.site
    module = blocks.module_of(facts, site)
    function = innermost_function(module.tree, site.line) if module is not None else None
    nodes = list(walk(function)) if function is not None else []
    if not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
        return False
    around = (loop.node for loop in iteration.context.loops if loop.node is not iteration.loop.node)
    return any(outer is node for outer in around for node in nodes)


def _in_turns(call: CallEvent) -> bool:
    """Whether a loop sets another epoch in each of its turns; one that has a single turn sets one."""
    given = call.argument(0, "epoch")
    several = any(not loaders.runs_once(loop) for loop in call.context.loops)
    return several and given is not None and not given.known


def _sampler(receiver: Value | None) -> Made | None:
    """The sampler whose epoch is set, if that is certain."""
    obj = receiver.object if receiver is not None else None
    made = obj.base if isinstance(obj, Instance) else obj
    return made if isinstance(made, Made) and made.path == aliases.SAMPLER else None


def _calls(facts: ModuleFacts) -> dict[int, list[CallEvent | None]]:
    """Simulated calls of `set_epoch`, by the attribute node of the call."""
    found: dict[int, list[CallEvent | None]] = {}
    for call in facts.methods("set_epoch"):
        found.setdefault(id(call.node.func), []).append(call)
    return found


def _mentions(facts: ModuleFacts) -> list[ast.AST]:
    """Every use of the name, as an attribute or as a string for `getattr`; not its definition, nor tests for it."""
    return [node for module in facts.modules for node in _named_in(module)]


def _named_in(module: Module) -> list[ast.AST]:
    if "set_epoch" not in module.text:
        return []
    found: list[ast.AST] = [n for n in module.of(ast.Attribute) if n.attr == "set_epoch" and not _inherits(n)]
    found.extend(n for n in module.of(ast.Name) if n.id == "set_epoch")
    found.extend(node for call in module.of(ast.Call) for node in _by_name(call))
    return found


def mentioned(facts: ModuleFacts) -> bool:
    """Whether any file that can be read sets the epoch of some sampler, or a framework may."""
    return packages.imported(facts.module.imports.values(), Does.EPOCHS) or bool(_mentions(facts))


def _inherits(node: ast.Attribute) -> bool:
    """Whether it is `super().set_epoch(epoch)` in an override."""
    return isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super"


def _by_name(call: ast.Call) -> list[ast.AST]:
    name = last_name(call.func)
    if name == "hasattr":
        return []
    return [a for a in call.args if isinstance(a, ast.Constant) and a.value == "set_epoch"]


def _counts(facts: ModuleFacts, loader: Value | None) -> bool:
    """Whether the program sets `sampler.epoch = epoch` itself."""
    given = loaders.given_sampler(loader)
    if given is not None and isinstance(given.object, Instance):
        # its own class stores it as well
        modules = facts.modules
        return any(_stores_epoch(node) for module in modules for node in module.of(ast.Attribute))
    atom = given.atoms[0] if given is not None else None
    return isinstance(atom, Symbol) and (atom.key, "epoch") in facts.analysis.heap


def _stores_epoch(node: ast.Attribute) -> bool:
    """Whether it is `sampler.epoch = ...`, of another object than that of the method."""
    own = isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr == "epoch" and isinstance(node.ctx, ast.Store) and not own
