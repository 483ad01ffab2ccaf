"""Gradients that are switched on in hooks: in methods of the program's classes that are called by a name alone, since
a table or the settings choose the objects; also by a function that the hook gives the network to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of

#: variables between what a hook is given and the part that it switches
_STEPS = 4


class HookSwitch(NamedTuple):
    """A part of a network that a hook switches on."""

    #: what the object that the hook is given has as the network, or as its wrapper
    network: Value
    #: the names of the attributes from there to the part; those of a part that is only chosen there are left out
    names: tuple[str, ...]
    site: SourceSite
    #: the call of the hook
    call: CallEvent


def found(facts: ModuleFacts, wrapping: set[str]) -> Iterator[HookSwitch]:
    """All in the order of the calls; none of a hook that lets the network be wrapped again, by a method of one of these
    names."""
    helpers = _helpers(facts)
    hooks = _hooks(facts, helpers)
    for call in facts.methods(*sorted(hooks)) if hooks else ():
        if not _is_chosen(call.receiver):
            continue
        for hook in hooks[call.method]:
            for value, parameter in zip(call.args, hook.parameters[1:], strict=False):
                if isinstance(value.object, Instance) and not _calls(hook, parameter.arg, wrapping):
                    yield from _switched(facts, call, hook, (value, parameter.arg), helpers)


def _is_chosen(owner: Value | None) -> bool:
    """Whether nothing is known of the object whose method is called, or only that something unknown has made it."""
    obj = owner.object if owner is not None else None
    return owner is not None and (obj is None or (isinstance(obj, Made) and obj.path.startswith("?.")))


def _hooks(facts: ModuleFacts, helpers: dict[str, _Helper]) -> dict[str, list[FunctionInfo]]:
    """Methods, by their names, that switch gradients on of something that they are given, of classes that the program
    names."""
    found: dict[str, list[FunctionInfo]] = {}
    for module in facts.modules:
        if not (_FLAGS | helpers.keys()) & module.words:
            continue
        for info in module.classes:
            several = (one for one in info.methods.values() if len(one.parameters) > 1)
            methods = [one for one in several if any(True for _ in _ons(one, helpers))]
            for method in methods if methods and _is_used(facts, module, info) else ():
                found.setdefault(method.name, []).append(method)
    return found


_FLAGS = frozenset({"requires_grad_", "requires_grad"})


def _is_used(facts: ModuleFacts, module: Module, info: ClassInfo) -> bool:
    """Whether something makes an object of the class, or puts the class into a table."""
    if info.node.decorator_list:
        return True
    modules = (one for one in (module, *facts.modules) if info.name in one.words)
    return any(node.id == info.name for one in modules for node in one.of(ast.Name))


class _Helper(NamedTuple):
    """A function that switches the gradients of what it is given."""

    #: where it is given that
    network: int
    #: where it is told whether to switch them on, with the name of that parameter; None if it always does
    flag: tuple[int, str] | None


def _helpers(facts: ModuleFacts) -> dict[str, _Helper]:
    """Functions, by their names, that switch gradients on for others: `set_trainable(net, names, True)`."""
    found: dict[str, _Helper] = {}
    for module in facts.modules:
        for info in module.functions if _FLAGS & module.words else ():
            helper = _helper(info) if info.owner is None else None
            if helper is not None:
                found[info.name] = helper
    return found


def _helper(info: FunctionInfo) -> _Helper | None:
    names = [parameter.arg for parameter in info.parameters]
    for _, switched, told in _switches(info):
        network = next((n for n, name in enumerate(names) if _from(info, switched, name) is not None), None)
        if network is None:
            continue
        if told is None or _is_true(told):
            return _Helper(network, None)
        if isinstance(told, ast.Name) and told.id in names:
            return _Helper(network, (names.index(told.id), told.id))
    return None


def _switches(info: FunctionInfo) -> Iterator[tuple[ast.AST, ast.expr, ast.expr | None]]:
    """Each place that switches gradients, of what, and what says which way; None for the method without an argument."""
    for node in walk(info.node):
        func = node.func if isinstance(node, ast.Call) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(func, ast.Attribute) and func.attr == "requires_grad_" and isinstance(node, ast.Call):
            if not node.keywords:
                yield node, func.value, node.args[0] if node.args else None
        elif isinstance(target, ast.Attribute) and target.attr == "requires_grad" and isinstance(node, ast.Assign):
            yield node, target.value, node.value


def _ons(hook: FunctionInfo, helpers: dict[str, _Helper]) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Each place that switches gradients on, perhaps by a helper, and of what."""
    for node, switched, told in _switches(hook):
        if told is None or _is_true(told):
            yield node, switched
    for node in walk(hook.node) if helpers else ():
        helper = helpers.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if helper is not None and isinstance(node, ast.Call) and _is_told(node, helper):
            yield node, node.args[helper.network]


def _is_told(call: ast.Call, helper: _Helper) -> bool:
    """Whether a call lets a helper switch gradients on."""
    if len(call.args) <= helper.network:
        return False
    if helper.flag is None:
        return True
    at, name = helper.flag
    named = (keyword.value for keyword in call.keywords if keyword.arg == name)
    given = call.args[at] if len(call.args) > at else next(named, None)
    return given is not None and _is_true(given)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _calls(hook: FunctionInfo, parameter: str, names: set[str]) -> bool:
    """Whether a hook calls a method of what it is given that has one of these names."""
    calls = (n.func for n in walk(hook.node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return any(func.attr in names and last_name(func.value) == parameter for func in calls)


def _switched(
    facts: ModuleFacts, call: CallEvent, hook: FunctionInfo, given: tuple[Value, str], helpers: dict[str, _Helper]
) -> Iterator[HookSwitch]:
    """What a hook switches on of an object that a call gives it as one of its parameters."""
    owner, parameter = symbol_key(given[0]), given[1]
    for node, switched in _ons(hook, helpers):
        names = _way(hook, switched, parameter)
        network = facts.analysis.heap.get((owner, names[0])) if names and owner is not None else None
        if network is not None:
            site = site_of(hook.module, node)
            yield HookSwitch(network, names[1:], site, call)


def _way(hook: FunctionInfo, node: ast.expr, parameter: str) -> tuple[str, ...]:
    """The attributes from a parameter to what is switched; () if it is not from there."""
    return _from(hook, node, parameter) or ()


def _from(hook: FunctionInfo, node: ast.expr, parameter: str) -> tuple[str, ...] | None:
    """The attributes from a parameter, through variables and loops; None if it is not from there."""
    names: list[str] = []
    for _ in range(_STEPS):
        root, more, chosen = _root(node)
        names = more if chosen else [*more, *names]
        if not isinstance(root, ast.Name):
            return None
        if root.id == parameter:
            return tuple(names)
        sources = list(_sources(hook, root.id))
        if len(sources) != 1:
            return None
        node = sources[0]
    return None


def _root(node: ast.expr) -> tuple[ast.expr, list[str], bool]:
    """What an expression begins with, the attributes that are read of it, and whether a call or an index then chooses
    a part: `trainer.net.get_submodule(name)` is a part of `net` of `trainer`."""
    names: list[str] = []
    chosen = False
    while True:
        if isinstance(node, ast.Attribute):
            names = [node.attr, *names]
            node = node.value
            continue
        inner = _chosen_from(node)
        if inner is None:
            return node, names, chosen
        node, names, chosen = inner, [], True


def _chosen_from(node: ast.expr) -> ast.expr | None:
    """What a method, an index or `getattr` takes a part of."""
    if isinstance(node, ast.Subscript):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.args[0] if last_name(node.func) == "getattr" and node.args else None


def _sources(hook: FunctionInfo, name: str) -> Iterator[ast.expr]:
    """What a variable of a hook is, or is an element of."""
    for node in walk(hook.node):
        if isinstance(node, ast.Assign) and any(_binds(target, name) for target in node.targets):
            yield node.value
        elif isinstance(node, (ast.For, ast.comprehension)) and _binds(node.target, name):
            yield node.iter


def _binds(target: ast.expr, name: str) -> bool:
    """Whether a variable is bound, and nothing of it stored."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)
