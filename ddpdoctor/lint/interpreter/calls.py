"""Calls: followed into the project's own functions, looked up in the tables otherwise."""

from __future__ import annotations

import ast
from typing import Any

from ddpdoctor.lint.interpreter import (
    bases,
    container_mutation,
    fsdp,
    functions,
    loop_extent,
    methods,
    overwrites,
    sampler_copies,
    tensor_mutation,
    wrapping,
)
from ddpdoctor.lint.interpreter.assignments import chosen_here
from ddpdoctor.lint.interpreter.attributes import attribute
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.decorators import decorated
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop, Iteration
from ddpdoctor.lint.interpreter.frame import Frame, Reset, decided_by
from ddpdoctor.lint.interpreter.invocations import FunctionCall, MethodCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import BlockExit, Scope, Trace, operates
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import (
    Class,
    External,
    Function,
    Given,
    Instance,
    Items,
    ItemsByRank,
    Listed,
    LocalModule,
    Made,
    Method,
    Table,
)
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.join import filled_up
from ddpdoctor.lint.values.tags import MODEL, OF_BATCH, ORIGIN, SET_ORDER, Tag, Tags, union
from ddpdoctor.lint.values.values import Keywords, Symbol, Taint, Value, join_tags, of_object, symbol_key, unknown
from ddpdoctor.model.record import replace
from ddpdoctor.program.nodes import last_name


def call(machine: Machine, frame: Frame, node: ast.Call) -> Value:
    """The value of a call; its collectives go into the frame's trace, the call itself into the events."""
    dropped = frame.dropped is node
    if machine.observed is not None:
        machine.observe(frame, node)
    target = _target(machine, frame, node)
    args, keywords = _arguments(machine, frame, node)
    site = machine.site(frame, node)
    of_result = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call)
    above = bases.behind_super(machine, frame, node) if of_result else None
    obj: Any = above if isinstance(above, Function) else target.object
    while obj.__class__ is Made and obj.path == "functools.partial" and obj.args:
        args, keywords = (*obj.args[1:], *args), _with_defaults(obj.keywords, keywords)
        target, obj = obj.args[0], obj.args[0].object
    # each kind of object is exactly one class, and a chain of `isinstance` is asked at every call
    kind = obj.__class__
    if kind is Function:
        return follow(machine, frame, obj, Given(args, keywords, site, node))
    if kind is Class:
        return _construct(FunctionCall(machine, frame, obj.info.name, args, keywords, site, node), obj)
    if kind is Instance:
        whole = MethodCall(machine, frame, "__call__", target, args, keywords, site, node)
        return wrapping.forwarded(whole, target, _call_instance(whole, obj))
    if kind is External or above is not None:
        path = above if isinstance(above, str) else obj.path
        function = FunctionCall(machine, frame, path, args, keywords, site, node)
        return _called_outside(function, target, inherited=above is not None, dropped=dropped)
    name, receiver = (obj.name, obj.receiver) if kind is Method else ("__call__", target)
    method = MethodCall(machine, frame, name, receiver, args, keywords, site, node)
    return _called_method(method, target, dropped=dropped)


def _called_outside(function: FunctionCall, target: Value, *, inherited: bool, dropped: bool) -> Value:
    """The result of a function or class outside the project, or of a method `inherited` from such a class."""
    machine, path = function.machine, function.path
    result = functions.called(function)
    if machine.observed is not None:
        result = machine.by_name(result, path.rpartition(".")[2])
    if inherited:
        bases.keep(machine, function.frame, result)
    elif path == aliases.SAMPLER:
        result = result.with_tags(result.tags | (target.tags & Tag.MAYBE))
    return _handed_on(function, result, dropped=dropped)


def _called_method(method: MethodCall, target: Value, *, dropped: bool) -> Value:
    """The result of a method of an object that is not the project's."""
    machine, node = method.machine, method.node
    result = wrapping.forwarded(method, target, methods.called(method))
    if machine.observed is not None:
        result = machine.by_name(result, method.name)
    if node.func.__class__ is ast.Attribute:
        owner = node.func.value
        _grow(method, owner)
        tensor_mutation.by_method(method, owner)
    return _handed_on(method, result, dropped=dropped)


def _handed_on(call: FunctionCall | MethodCall, result: Value, *, dropped: bool) -> Value:
    """The result of a call, which is recorded."""
    if dropped:
        tensor_mutation.handed_out(call)
    if not call.machine.silent:
        _record(call, result, dropped=dropped)
    return result


def _grow(call: MethodCall, owner: ast.expr) -> None:
    """The container, written as `owner`, after a method that adds to it."""
    method, receiver = call.name, call.receiver
    if method == "sort" and receiver.tags & SET_ORDER:
        container_mutation.put_in_order(call.machine, call.frame, owner, receiver)
    if method not in container_mutation.CHANGING:
        return
    machine, frame, args = call.machine, call.frame, call.args
    if method == "register_buffer":
        container_mutation.registered(machine, frame, receiver, args)
    grown = container_mutation.grown(call)
    listed = receiver.tags & Tag.UNEVEN and method in container_mutation.LENGTHENING
    if method in container_mutation.ADDING and (
        listed or isinstance(receiver.object, (Items, ItemsByRank, Listed, Table))
    ):
        apart = decided_by(frame, call.node)
        if apart is None:
            apart = next((a.tags for a in args if method == "extend" and a.tags & Tag.UNEVEN), None)
        if apart is not None:
            grown = containers.uneven(receiver if grown is None else grown, apart)
        elif receiver.tags & Tag.UNEVEN and (method != "append" or loop_extent.loops(frame)):
            # it may have been padded to the same length; one element more does not do that
            grown = unknown("filled up", call.site, tags=Tag.FILLED_UP)
    if grown is not None:
        container_mutation.rebind(machine, frame, owner, grown)


def _record(call: FunctionCall | MethodCall, result: Value, *, dropped: bool = False) -> None:
    machine = call.machine
    if machine.silent:
        return
    context, index = machine.context(call.frame), len(machine.calls)
    if isinstance(call, MethodCall):
        machine.calls.append(CallEvent(
            "", call.name, call.receiver, call.args, call.keywords, result, call.node, call.site, context, index,
            dropped,
        ))  # fmt: skip
        return
    machine.calls.append(CallEvent(
        call.path, "", None, call.args, call.keywords, result, call.node, call.site, context, index, dropped
    ))  # fmt: skip
    if call.path == "builtins.iter" and len(call.args) == 1 and call.frame.handler != "except":
        # `iter()` called explicitly: the loop that uses it is elsewhere
        loop = EnclosingLoop(call.node, call.site, iterated_of(call.args[0])[0], "")
        machine.iterations.append(Iteration(loop, context, index))


def _with_defaults(defaults: Keywords, given: Keywords) -> Keywords:
    names = {name for name, _ in given}
    return (*((n, v) for n, v in defaults if n not in names), *given)


#: objects whose methods are looked up
_WITH_MEMBERS = frozenset({External, Instance, Class, LocalModule})


def _target(machine: Machine, frame: Frame, node: ast.Call) -> Value:
    func = node.func
    if not isinstance(func, ast.Attribute):
        return machine.evaluate(frame, func)
    owner = machine.evaluate(frame, func.value)
    if owner.object.__class__ in _WITH_MEMBERS:
        return attribute(machine, frame, owner, func.attr, func)
    if owner.tags:
        wrapping.attribute(machine, frame, owner, func.attr, func)
    stored = _stored_callable(machine, owner, func.attr)
    return stored if stored is not None else of_object(Method(owner, func.attr), owner.atoms, func.attr)


def _stored_callable(machine: Machine, owner: Value, name: str) -> Value | None:
    key = symbol_key(owner)
    value = machine.heap.get((key, name)) if key is not None else None
    return value if value is not None and value.object is not None else None


def _arguments(machine: Machine, frame: Frame, node: ast.Call) -> tuple[tuple[Value, ...], Keywords]:
    args: list[Value] = []
    keywords: list[tuple[str, Value]] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = machine.evaluate(frame, argument.value)
            if isinstance(value.object, Items):
                args.extend(value.object.items)
            else:
                keywords.append(("*", value))
        else:
            args.append(machine.evaluate(frame, argument))
    for keyword in node.keywords:
        value = machine.evaluate(frame, keyword.value)
        if keyword.arg is not None:
            keywords.append((keyword.arg, value))
        elif isinstance(value.object, Table):
            keywords.extend(value.object.entries)
            if not value.object.complete:
                keywords.append(("**", value))
        else:
            keywords.append(("**", value))
    return tuple(args), tuple(keywords)


def follow(machine: Machine, frame: Frame, function: Function, given: Given) -> Value:
    """Call a function of the project, or the wrapper that its decorators return."""
    args, node = given.args, given.node
    if function.info.decorators and not function.bare:
        wrapper = decorated(machine, function.info)
        if wrapper is not None:
            args = (function.receiver, *args) if function.receiver is not None else args
            function = wrapper
    outcome = machine.call(function, args, given.keywords, frame, given.site)
    if outcome is None:
        return unknown("not followed", given.site)
    if outcome.trace:
        frame.out.append(Scope(function.info.name, outcome.trace, given.site))
    own = function.receiver.atoms[0] if function.receiver is not None else None
    for key, stored in outcome.stores.items():
        mine = isinstance(own, Symbol) and key[0] == own.key and node is not None
        value = chosen_here(frame, node, stored) if mine and node is not None else stored
        value = filled_up(value, *key, frame.stores.get(key))
        frame.stores[key] = value
        machine.heap[key] = value
    if node is not None and outcome.resets:
        _reset_arguments(frame, function, node, outcome.resets)
    if outcome.ends:
        frame.out.append(BlockExit("raise", given.site))
        frame.mask = 0
    value = outcome.value
    value = _computed_from(value, _tags_of(args, given.keywords)) if value.taint is Taint.UNKNOWN else value
    return _agreed(value, outcome.trace) if outcome.trace else value


def _tags_of(args: tuple[Value, ...], keywords: Keywords) -> Tags:
    return union([v.tags for v in args]) | union([v.tags for _, v in keywords])


def _computed_from(value: Value, tags: Tags) -> Value:
    """The result of a function that could be followed, but not through all that it computes: as with one that is not
    seen, it may be a loss of what a wrapped model gave."""
    origin = tags & (Tag.DDP | Tag.OF_GROUP | Tag.SHARDED)
    if not origin or value.taint is not Taint.UNKNOWN or value.tags & (ORIGIN | MODEL):
        return value
    if isinstance(value.object, Items):
        return value.with_object(Items(tuple(_computed_from(item, origin) for item in value.object.items)))
    opaque = value.object is None or isinstance(value.object, (Made, Method))
    return value.tagged(origin) if opaque and not value.known else value


def _agreed(value: Value, trace: Trace) -> Value:
    """The result of a function that runs collectives: all ranks may have agreed on it."""
    plain = value.object is None or isinstance(value.object, Made)
    open_ = plain and value.taint is Taint.UNKNOWN and not value.known
    return value.tagged(Tag.AGREED) if open_ and operates(trace) else value


def _reset_arguments(frame: Frame, function: Function, node: ast.Call, resets: dict[str, Reset]) -> None:
    signature = function.info.signature
    names = signature.positional[1:] if function.receiver is not None else signature.positional
    given = [(name, argument) for name, argument in zip(names, node.args, strict=False)]
    given += [(signature.rest, argument) for argument in node.args[len(names) :]]
    given += [(keyword.arg or "", keyword.value) for keyword in node.keywords]
    for name, argument in given:
        reset = resets.get(name)
        if reset is not None and reset.of_root:
            overwrites.reduced_to_root(frame, argument)
        elif reset is not None:
            of_elements = reset.of_elements and name != signature.rest
            (overwrites.overwrite_elements if of_elements else overwrites.overwrite)(frame, argument)


def _construct(call: FunctionCall, obj: Class) -> Value:
    """An object of a class of the project, with what its `__init__` does."""
    machine, frame, site = call.machine, call.frame, call.site
    if "TypedDict" in _base_names(obj):
        return containers.table(call.args, call.keywords, site)
    if any("Enum" in b for b in _base_names(obj)):
        return unknown("constructed", site, tags=join_tags(call.args) & (ORIGIN | OF_BATCH))
    instance = of_object(Instance(obj.info, site, call.args, call.keywords), id(obj.info), site)
    init = find_method(machine, obj.info, "__init__")
    if init is not None:
        outcome = machine.call(Function(init, instance), call.args, call.keywords, frame, site)
        if outcome is not None:
            if outcome.trace:
                frame.out.append(Scope(obj.info.name, outcome.trace, site))
            frame.stores.update(outcome.stores)
            machine.heap.update(outcome.stores)
        base = bases.base_of(machine, instance) or _copied(call, instance)
        return instance.with_object(replace(instance.object, base=base)) if base is not None else instance
    path = bases.torch_base(machine, obj.info)
    if path is None:
        return instance
    call_of_base = replace(call, path=path)
    made = functions.called(call_of_base)
    _record(call_of_base, made)
    return instance.with_object(replace(instance.object, base=made.object))


def _copied(call: FunctionCall, instance: Value) -> Made | None:
    """The call of torch's sampler that the call of a copy of it stands for."""
    made = sampler_copies.torch_sampler(instance.object, call.node)
    if made is not None:
        _record(replace(call, path=made.path, args=made.args, keywords=made.keywords), of_object(made, made.site))
    return made


def _base_names(obj: Class) -> list[str]:
    return [last_name(b) for b in
            obj.info.node.bases]  # fmt: skip


def _call_instance(call: MethodCall, obj: Instance) -> Value:
    """What an object of the project gives that is called itself."""
    args, site = call.args, call.site
    for name in ("__call__", "forward"):
        method = find_method(call.machine, obj.info, name)
        if method is not None:
            given = Given(args, call.keywords, site, call.node)
            value = follow(call.machine, call.frame, Function(method, call.receiver), given)
            sharded = fsdp.is_sharded(call.machine, call.receiver)
            return fsdp.forward(call.frame, call.given, site) if sharded else value
    taint = Taint.RANK_LOCAL if any(a.taint is Taint.RANK_LOCAL for a in args) else Taint.UNKNOWN
    return unknown("instance call", site, taint=taint, tags=join_tags(args) & (ORIGIN | OF_BATCH))
