"""Hooks that only some ranks attach, and the collectives that these ranks enter when the hooks are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects
from ddpdoctor.lint.interpreter.classes import mro
from ddpdoctor.lint.interpreter.events import CallEvent, Context
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.trace import Branch, Op, steps
from ddpdoctor.lint.knowledge import frameworks, hooks
from ddpdoctor.lint.values.abstract_objects import Function, Instance
from ddpdoctor.lint.values.values import EVERY_RANK, WORLD, Value, symbol_key
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite


class Entered(NamedTuple):
    """A collective of a hook that some ranks attach."""

    #: where it is attached
    site: SourceSite
    context: Context
    op: Op
    #: the branches around the operation in the hook
    under: tuple[Branch, ...]


class _Handed(NamedTuple):
    """A function that will be called on the ranks that hand it over."""

    function: Function
    site: SourceSite
    context: Context


def on_some_ranks(facts: ModuleFacts) -> Iterator[Entered]:
    """The first collective of each hook that some ranks attach, where the others have no hook with the same."""
    found = [entered for handed in _handed(facts) if (entered := _entered(facts, handed)) is not None]
    for one in found:
        others = [other.context.mask for other in found if other.op.op == one.op.op]
        if _together(others) != EVERY_RANK:
            yield one


def _together(masks: list[int]) -> int:
    every = 0
    for mask in masks:
        every |= mask
    return every


def _handed(facts: ModuleFacts) -> Iterator[_Handed]:
    for made in facts.analysis.attached:
        if isinstance(made.function.object, Function) and not _is_own(facts, made.owner, made.context):
            yield _Handed(made.function.object, made.site, made.context)
    for call in facts.methods(*hooks.ATTACHING):
        value = call.argument(*hooks.ATTACHING[call.method]) if call.context.some_ranks_only else None
        if value is not None and not _is_own(facts, call.receiver, call.context):
            yield from (_Handed(f, call.site, call.context) for f in _functions(facts, value, call))
    for call in facts.methods(*hooks.LISTING):
        position = hooks.LISTING[call.method]
        if call.context.some_ranks_only and len(call.args) > position:
            first = _first_listed(facts, call)
            yield from (_Handed(f, first.site, first.context) for f in _functions(facts, call.args[position], call))


def _first_listed(facts: ModuleFacts, call: CallEvent) -> CallEvent:
    """The call by which the ranks have put the element on a list before, whose elements then came to this one:
    `hooks.append(writer)`, and then `self.hooks.append(hook)` for each of them."""
    element = symbol_key(call.args[hooks.LISTING[call.method]])
    for other in facts.methods(*hooks.LISTING):
        at = hooks.LISTING[other.method]
        if element is not None and len(other.args) > at and symbol_key(other.args[at]) == element:
            return other if other.context.some_ranks_only else call
    return call


def _is_own(facts: ModuleFacts, owner: Value | None, context: Context) -> bool:
    """Whether what calls the hooks was made on these ranks alone as well."""
    if owner is None or owner.object is None:
        return False
    made = next((call for call in facts.calls if call.result.object is owner.object), None)
    return made is not None and made.context.mask & ~context.mask == 0


def _functions(facts: ModuleFacts, value: Value, call: CallEvent) -> Iterator[Function]:
    """What is called of something that was handed over."""
    obj = value.object
    listed = call.method in hooks.LISTING
    if isinstance(obj, Function) and (not listed or _CALLED in _called(facts, call)):
        yield obj
    if not isinstance(obj, Instance):
        return
    names = _called(facts, call)
    hooked = bool(frameworks.HOOKED.intersection(framework_objects.bases(facts.analysis, obj.info)))
    told: set[str] = set()
    for cls in mro(facts.analysis, obj.info):
        for name, method in cls.methods.items():
            by_trainer = hooked and name.startswith(frameworks.ON_ALL_RANKS)
            if name not in told and (by_trainer or name in names):
                yield Function(method, value)
            told.add(name)


#: stands for a call of the element itself
_CALLED = "__call__"


def _called(facts: ModuleFacts, call: CallEvent) -> set[str]:
    """The methods that loops of the program call on the elements of the list that the call adds to; of an object that
    is attached by a method, those of all lists whose elements have them."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    wanted = last_name(owner).lstrip("_") if call.method in hooks.LISTING else ""
    names: set[str] = set()
    if call.method in hooks.LISTING and not wanted:
        return names
    for module in facts.modules:
        loops: list[ast.For] = module.of(ast.For)
        for loop in loops:
            over = last_name(_listed(loop.iter)).lstrip("_")
            if isinstance(loop.target, ast.Name) and over and over == (wanted or over):
                names |= _methods(module, loop, loop.target.id)
    return names


def _listed(node: ast.expr) -> ast.expr:
    """`hooks` of `reversed(self.hooks)`, `self.hooks[:]`."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        return node.args[0]
    return node.value if isinstance(node, ast.Subscript) else node


def _methods(module: Module, loop: ast.For, element: str) -> set[str]:
    """The methods that a loop calls on its element; where their names are computed, all that the file's texts name."""
    found: set[str] = set()
    calls = (n for statement in loop.body for n in walk(statement) if isinstance(n, ast.Call))
    for call in calls:
        match call.func:
            case ast.Name(id=name) if name == element:
                found.add(_CALLED)
            case ast.Attribute(value=ast.Name(id=name), attr=method) if name == element:
                found.add(method)
            case ast.Name(id="getattr") if call.args and last_name(call.args[0]) == element:
                texts: list[ast.Constant] = module.of(ast.Constant)
                found |= {text.value for text in texts if isinstance(text.value, str)}
    return found


def _entered(facts: ModuleFacts, handed: _Handed) -> Entered | None:
    """The first collective that the ranks enter together with others that do not attach it."""
    analysis, info, mask = facts.analysis, handed.function.info, handed.context.mask
    unknown = analysis.parameters(info)
    bound = handed.function.receiver is not None and not info.is_static
    args = tuple(unknown[p.arg] for p in info.parameters[1 if bound else 0 :])
    with analysis.quietly():
        frame = Frame(info.module, mask=mask, calls=("",))
        outcome = analysis.call(handed.function, args, (), frame, handed.site)
    for node, _, under, _ in steps(outcome.trace) if outcome is not None else ():
        if isinstance(node, Op) and _waits(node, mask):
            return Entered(handed.site, handed.context, node, under)
    return None


def _waits(op: Op, mask: int) -> bool:
    """Whether a rank of the mask waits in the operation for one that is not there."""
    members = range(WORLD) if op.members is None else op.members
    there = [bool(mask >> rank & 1) for rank in members]
    return any(there) and not all(there)
