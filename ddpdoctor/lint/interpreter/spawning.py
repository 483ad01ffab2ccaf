"""Functions of the project that an external call starts: in new processes, or with options as arguments."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.invocations import FunctionCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values.abstract_objects import Function, Items, Table
from ddpdoctor.lint.values.tags import MADE_UP, Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, Taint, Value, const, symbol_key, unknown
from ddpdoctor.program.sites import SourceSite

SPAWNED = RANK_NUMBERS.tagged(Tag.SPAWNED)


def starts(path: str) -> bool:
    """Whether a function may start functions of the project, by its path."""
    return path in frameworks.SPAWNING or path in frameworks.STARTING or path.endswith(".Process")


def started(call: FunctionCall) -> None:
    """The functions of the project that the call starts."""
    path = call.path
    if path in frameworks.SPAWNING:
        _spawn(call, *frameworks.SPAWNING[path])
    elif path in frameworks.STARTING and call.args:
        start(call.machine, call.frame, call.args[0], [], call.site)
    elif path.endswith(".Process") and path.startswith(("torch.multiprocessing", "multiprocessing")):
        _process(call)


def _spawn(call: FunctionCall, function: int, arguments: int) -> None:
    """`spawn(function, arguments)`, each at its position."""
    target = call.argument(function, "fn")
    if target is not None:
        given = map(_of_parent, _handed(call.machine, _items(call.argument(arguments, "args"))))
        start(call.machine, call.frame, target, [SPAWNED, *given], call.site)


def start(machine: Machine, frame: Frame, target: Value, args: list[Value], site: SourceSite) -> None:
    """Simulate a function that external code calls: in new processes, or with options as its arguments."""
    if isinstance(target.object, Function) and not machine.silent:
        machine.run_spawned(target.object.info, args, frame, site)


def _of_parent(value: Value) -> Value:
    """What one process has drawn, or read from its clock, and hands to all ranks: equal on them, also inside of what
    holds it."""
    held = value.object
    if isinstance(held, Items):
        value = value.with_object(Items(tuple(map(_of_parent, held.items))))
    elif isinstance(held, Table):
        rest = _of_parent(held.rest) if held.rest is not None else None
        entries = tuple((key, _of_parent(entry)) for key, entry in held.entries)
        value = value.with_object(Table(entries, held.complete, rest))
    drawn = value.tags & (MADE_UP | Tag.RANDOM | Tag.OWN)
    if len(value.atoms) > 1 or not (drawn or value.taint is Taint.RANK_LOCAL):
        return value
    return unknown("of the parent", value.atoms, tags=value.tags & ~drawn).with_object(value.object)


def _handed(machine: Machine, given: list[Value]) -> list[Value]:
    """What new processes are given, with the attributes that the parent has set: `args.port = find_free_port()`."""
    keys = {key for value in given if (key := symbol_key(value)) is not None}
    for (owner, name), held in list(machine.heap.items()):
        if owner in keys:
            machine.heap[(owner, name)] = _of_parent(held)
    return given


def _items(given: Value | None) -> list[Value]:
    if given is None:
        return []
    if isinstance(given.object, Items):
        return list(given.object.items)
    return [const(c) for c in given.elements or ()]


def _process(call: FunctionCall) -> None:
    target, args = call.keyword("target"), _handed(call.machine, _items(call.keyword("args")))
    if target is not None:
        given = [RANK_NUMBERS if a.tags & Tag.INDEX else _of_parent(a) for a in args]
        start(call.machine, call.frame, target, given, call.site)
