"""Calls: followed into the project's own functions, looked up in the tables for everything else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import bases, collectives, external, filling, sharding, spellings, wrapping
from ddpdoctor.lint.facts.assignments import chosen_here
from ddpdoctor.lint.facts.attributes import attribute
from ddpdoctor.lint.facts.classes import find_method
from ddpdoctor.lint.facts.decorators import decorated
from ddpdoctor.lint.facts.events import Call, Iteration, Turn
from ddpdoctor.lint.facts.frame import Frame, decided_by, filled_up
from ddpdoctor.lint.facts.things import Class, External, Function, Instance, Items, Listed, Made, Method, Site, Table
from ddpdoctor.lint.facts.trace import Exit, Scope
from ddpdoctor.lint.facts.values import ORIGIN, Symbol, Taint, Value, join_tags, of_thing, symbol_key, unknown
from ddpdoctor.lint.record import replace

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

Keywords = tuple[tuple[str, Value], ...]


def call(analysis: Analysis, frame: Frame, node: ast.Call) -> Value:
    """The value of a call; its collectives go into the frame's trace, the call itself into the events."""
    dropped = frame.dropped is node
    target = _target(analysis, frame, node)
    args, keywords = _arguments(analysis, frame, node)
    site = analysis.site(frame, node)
    above = bases.behind_super(analysis, frame, node)
    thing = above if isinstance(above, Function) else target.thing
    while isinstance(thing, Made) and thing.path == "functools.partial" and thing.args:
        args, keywords = (*thing.args[1:], *args), _with_defaults(thing.keywords, keywords)
        target, thing = thing.args[0], thing.args[0].thing
    if isinstance(thing, Function):
        return follow(analysis, frame, thing, args, keywords, site, node)
    if isinstance(thing, Class):
        return _construct(analysis, frame, thing, args, keywords, site, node)
    if isinstance(thing, Instance):
        value = _call_instance(analysis, frame, target, thing, args, keywords, site, node)
        return wrapping.forwarded(analysis, frame, target, node.func, value)
    path, method, receiver = "", "", None
    if isinstance(above, str):
        path = above
    elif isinstance(thing, External):
        path = thing.path
    elif isinstance(thing, Method):
        method, receiver = thing.name, thing.receiver
    else:
        method, receiver = "__call__", target
    result = external.result(analysis, frame, path, method, receiver, args, keywords, site, node)
    if isinstance(above, str):
        bases.keep(analysis, frame, result)
    elif path == spellings.SAMPLER:
        result = result.with_tags(result.tags | (target.tags & {"maybe"}))
    elif not path:
        result = wrapping.forwarded(analysis, frame, target, node.func, result)
        if receiver is not None and isinstance(node.func, ast.Attribute):
            _grow(analysis, frame, method, receiver, args, keywords, site, node)
    _record(analysis, frame, Call(path, method, receiver, args, keywords, result, node, site, analysis.context(frame),
                                  len(analysis.calls), dropped))  # fmt: skip
    return result


def _grow(
    analysis: Analysis, frame: Frame, method: str, receiver: Value, args: tuple[Value, ...], keywords: Keywords,
    site: Site, node: ast.Call,
) -> None:  # fmt: skip
    """What a container holds after a method that adds to it."""
    assert isinstance(node.func, ast.Attribute)
    if method == "register_buffer":
        filling.registered(analysis, frame, receiver, args)
    grown = filling.grown(frame, method, receiver, args, keywords, site)
    if method in filling.ADDING and isinstance(receiver.thing, (Items, Listed, Table)):
        apart = decided_by(frame, node)
        if apart is None:
            apart = next((a.tags for a in args if method == "extend" and "uneven" in a.tags), None)
        if apart is not None:
            grown = filling.uneven(receiver if grown is None else grown, apart)
        elif "uneven" in receiver.tags:
            # it may be filled up to the same length
            grown = unknown("filled up", site, tags=frozenset({"filled up"}))
    if grown is not None:
        filling.rebind(analysis, frame, node.func.value, grown)


def _record(analysis: Analysis, frame: Frame, event: Call) -> None:
    if analysis.silent:
        return
    analysis.calls.append(event)
    if event.path == "builtins.iter" and len(event.args) == 1 and frame.handler != "except":
        # `for` by hand: the loop that draws from it stands elsewhere
        from ddpdoctor.lint.facts.loops import iterated_of

        turn = Turn(event.node, event.site, iterated_of(event.args[0])[0], "")
        analysis.iterations.append(Iteration(turn, event.context, event.index))


def _with_defaults(defaults: Keywords, given: Keywords) -> Keywords:
    names = {name for name, _ in given}
    return (*((n, v) for n, v in defaults if n not in names), *given)


def _target(analysis: Analysis, frame: Frame, node: ast.Call) -> Value:
    func = node.func
    if not isinstance(func, ast.Attribute):
        return analysis.evaluate(frame, func)
    owner = analysis.evaluate(frame, func.value)
    if isinstance(owner.thing, (External, Instance, Class)) or type(owner.thing).__name__ == "LocalModule":
        return attribute(analysis, frame, owner, func.attr, func)
    if owner.tags:
        wrapping.attribute(analysis, frame, owner, func.attr, func)
    stored = _stored_callable(analysis, owner, func.attr)
    return stored if stored is not None else of_thing(Method(owner, func.attr), owner.atoms, func.attr)


def _stored_callable(analysis: Analysis, owner: Value, name: str) -> Value | None:
    key = symbol_key(owner)
    value = analysis.heap.get((key, name)) if key is not None else None
    return value if value is not None and value.thing is not None else None


def _arguments(analysis: Analysis, frame: Frame, node: ast.Call) -> tuple[tuple[Value, ...], Keywords]:
    args: list[Value] = []
    keywords: list[tuple[str, Value]] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = analysis.evaluate(frame, argument.value)
            if isinstance(value.thing, Items):
                args.extend(value.thing.items)
            else:
                keywords.append(("*", value))
        else:
            args.append(analysis.evaluate(frame, argument))
    for keyword in node.keywords:
        value = analysis.evaluate(frame, keyword.value)
        if keyword.arg is not None:
            keywords.append((keyword.arg, value))
        elif isinstance(value.thing, Table):
            keywords.extend(value.thing.entries)
            if not value.thing.complete:
                keywords.append(("**", value))
        else:
            keywords.append(("**", value))
    return tuple(args), tuple(keywords)


def follow(
    analysis: Analysis, frame: Frame, function: Function, args: tuple[Value, ...], keywords: Keywords, site: Site,
    node: ast.Call | None,
) -> Value:  # fmt: skip
    """Call a function of the project, or what its decorators have put in its place."""
    if function.info.decorators and not function.bare:
        wrapper = decorated(analysis, function.info)
        if wrapper is not None:
            args = (function.receiver, *args) if function.receiver is not None else args
            function = wrapper
    outcome = analysis.call(function, args, keywords, frame, site)
    if outcome is None:
        return unknown("not followed", site)
    if outcome.trace:
        frame.out.append(Scope(function.info.name, outcome.trace, site))
    own = function.receiver.atoms[0] if function.receiver is not None else None
    for key, stored in outcome.stores.items():
        mine = isinstance(own, Symbol) and key[0] == own.key and node is not None
        value = chosen_here(frame, node, stored) if mine and node is not None else stored
        value = filled_up(value, *key, frame.stores.get(key))
        frame.stores[key] = value
        analysis.heap[key] = value
    if node is not None and outcome.resets:
        _reset_arguments(frame, function, node, outcome.resets)
    if outcome.ends:
        frame.out.append(Exit("raise", site))
        frame.mask = 0
    return _agreed(outcome.value) if outcome.trace else outcome.value


def _agreed(value: Value) -> Value:
    """What a function gives that runs collectives: perhaps what all ranks have agreed on."""
    plain = value.thing is None or isinstance(value.thing, Made)
    return value.tagged("agreed") if plain and value.taint is Taint.UNKNOWN and not value.known else value


def _reset_arguments(frame: Frame, function: Function, node: ast.Call, resets: tuple[str, ...]) -> None:
    names = [p.arg for p in function.info.parameters]
    if function.receiver is not None:
        names = names[1:]
    for name, argument in zip(names, node.args, strict=False):
        if name in resets:
            collectives.overwrite(frame, argument)
    for keyword in node.keywords:
        if keyword.arg in resets:
            collectives.overwrite(frame, keyword.value)


def _construct(
    analysis: Analysis, frame: Frame, thing: Class, args: tuple[Value, ...], keywords: Keywords, site: Site,
    node: ast.Call,
) -> Value:  # fmt: skip
    if "TypedDict" in _base_names(thing):
        return filling.table(args, keywords, site)
    if any("Enum" in b for b in _base_names(thing)):
        return unknown("constructed", site, tags=join_tags(args) & (ORIGIN | {"batch"}))
    instance = of_thing(Instance(thing.info, site, args, keywords), id(thing.info), site)
    init = find_method(analysis, thing.info, "__init__")
    if init is not None:
        outcome = analysis.call(Function(init, instance), args, keywords, frame, site)
        if outcome is not None:
            if outcome.trace:
                frame.out.append(Scope(thing.info.name, outcome.trace, site))
            frame.stores.update(outcome.stores)
            analysis.heap.update(outcome.stores)
        base = bases.base_of(analysis, instance)
        return instance.with_thing(replace(instance.thing, base=base)) if base is not None else instance
    path = bases.inherited_constructor(analysis, thing.info)
    if path is None:
        return instance
    made = external.result(analysis, frame, path, "", None, args, keywords, site, node)
    _record(analysis, frame, Call(path, "", None, args, keywords, made, node, site, analysis.context(frame),
                                  len(analysis.calls), False))  # fmt: skip
    return instance.with_thing(replace(instance.thing, base=made.thing))


def _base_names(thing: Class) -> list[str]:
    return [b.attr if isinstance(b, ast.Attribute) else b.id if isinstance(b, ast.Name) else "" for b in
            thing.info.node.bases]  # fmt: skip


def _call_instance(
    analysis: Analysis, frame: Frame, target: Value, thing: Instance, args: tuple[Value, ...], keywords: Keywords,
    site: Site, node: ast.Call,
) -> Value:  # fmt: skip
    for name in ("__call__", "forward"):
        method = find_method(analysis, thing.info, name)
        if method is not None:
            value = follow(analysis, frame, Function(method, target), args, keywords, site, node)
            return (
                sharding.forward(frame, (*args, *(v for _, v in keywords)), site)
                if sharding.is_sharded(analysis, target)
                else value
            )
    taint = Taint.RANK_LOCAL if any(a.taint is Taint.RANK_LOCAL for a in args) else Taint.UNKNOWN
    return unknown("instance call", site, taint=taint, tags=join_tags(args) & (ORIGIN | {"batch"}))
