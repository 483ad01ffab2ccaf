"""Functions of the project that an external call starts: in new processes, or with options as arguments."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.instances import of_parent
from ddpdoctor.lint.interpreter.invocations import FunctionCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Items
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, Value, const, symbol_key
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
        given = map(of_parent, _handed(call.machine, _items(call.argument(arguments, "args"))))
        start(call.machine, call.frame, target, [SPAWNED, *given], call.site)


def start(machine: Machine, frame: Frame, target: Value, args: list[Value], site: SourceSite) -> None:
    """Simulate a function that external code calls: in new processes, or with options as its arguments."""
    if isinstance(target.object, Function) and not machine.silent:
        before = machine.handed
        made = {key for value in args if isinstance(value.object, Instance) and (key := symbol_key(value)) is not None}
        machine.handed = before | made
        machine.run_spawned(target.object.info, args, frame, site)
        machine.handed = before


def _handed(machine: Machine, given: list[Value]) -> list[Value]:
    """What new processes are given, with the attributes that the parent has set: `args.port = find_free_port()`."""
    keys = {key for value in given if (key := symbol_key(value)) is not None}
    for (owner, name), held in list(machine.heap.items()):
        if owner in keys:
            machine.heap[(owner, name)] = of_parent(held)
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
        given = [RANK_NUMBERS if a.tags & Tag.INDEX else of_parent(a) for a in args]
        start(call.machine, call.frame, target, given, call.site)
