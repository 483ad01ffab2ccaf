"""Containers that are filled after their creation, and the variables and attributes that hold them."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter import budgets, loop_extent
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.invocations import MethodCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.abstract_objects import Instance, Items, ItemsByRank, Listed, Table
from ddpdoctor.lint.values.containers import changed_table, either, of_unknown_length
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import SET_ORDER, Tag
from ddpdoctor.lint.values.values import EVERY_RANK, Symbol, Value
from ddpdoctor.program.nodes import walk


def grown(call: MethodCall) -> Value | None:
    """The container after a method that adds to it; None for any other method or object."""
    method, receiver, args, site = call.name, call.receiver, call.args, call.site
    obj = receiver.object
    if isinstance(obj, Table) and method in ("update", "setdefault", "pop", "clear", "popitem"):
        return changed_table(receiver, obj, method, args, call.keywords)
    if len(args) == 1 and method in ("append", "extend"):
        longer = _appended(call, args[0]) if method == "append" else _extended(call, args[0])
        if longer is not None:
            return longer
    if isinstance(obj, Items) and method in ("extend", "insert", "pop", "remove", "clear", "appendleft"):
        return of_unknown_length(receiver, None, site)
    return None


def _appended(call: MethodCall, added: Value) -> Value | None:
    receiver, obj = call.receiver, call.receiver.object
    known = isinstance(obj, (Items, ItemsByRank)) and len(obj.items) < budgets.ELEMENTS
    if known and (not call.frame.loops or _is_in_turn(call) or (_names_peer(added) and _is_new(call))):
        if isinstance(obj, ItemsByRank):
            return receiver.with_object(ItemsByRank((*obj.items, (EVERY_RANK, added))))
        # an object that is there already was put there as the turns of the loop were tried out
        tried = isinstance(added.object, Instance) and call.frame.loops and added in obj.items
        return receiver if tried else receiver.with_object(Items((*obj.items, added)))
    if isinstance(obj, Items):
        return of_unknown_length(receiver, added if not obj.items else None, call.site)
    if isinstance(obj, Listed) and obj.element is not None:
        return of_unknown_length(receiver, either(obj.element, added), call.site)
    return None


def _extended(call: MethodCall, added: Value) -> Value | None:
    receiver, obj, more = call.receiver, call.receiver.object, added.object
    if not isinstance(obj, Items):
        return None
    if isinstance(more, Items) and not call.frame.loops and len(obj.items) + len(more.items) <= budgets.ELEMENTS:
        return receiver.with_object(Items((*obj.items, *more.items)))
    return of_unknown_length(receiver, iterated_of(added)[1], call.site) if not obj.items else None


def _is_in_turn(call: MethodCall) -> bool:
    """Whether it adds an object of the project in loops that have a turn for each of what they go through, to an
    attribute of an object: `for hook in hooks: self.hooks.append(hook)`."""
    of_object = isinstance(call.node.func, ast.Attribute) and isinstance(call.node.func.value, ast.Attribute)
    turns = of_object and isinstance(call.args[0].object, Instance)
    return turns and all(loop.unrolled for loop in call.frame.loops)


def _names_peer(value: Value) -> bool:
    """Whether it is another rank, by this one's number, alone or with what is for it."""
    parts = value.object.items if isinstance(value.object, Items) else (value,)
    return any(part.known and len(part.atoms) > 1 and part.tags & Tag.RANK for part in parts)


def _is_new(call: MethodCall) -> bool:
    """Whether the list was made in this turn of the innermost loop of the function, or by this call of it."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    loops, function = loop_extent.loops(call.frame), call.frame.function
    scope = loops[-1].node if loops else function.node if function is not None else None
    if not isinstance(owner, ast.Name) or scope is None:
        return False
    made = (n for n in walk(scope) if isinstance(n, ast.Assign) and isinstance(n.value, ast.List))
    return any(isinstance(target, ast.Name) and target.id == owner.id for n in made for target in n.targets)


#: methods that add elements
ADDING = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "appendleft"})
#: those of them that only a list has
LENGTHENING = frozenset({"append", "extend", "insert"})
#: methods after which an object holds other things than before
CHANGING = ADDING | {"pop", "clear", "popitem", "remove", "register_buffer"}


def registered(machine: Machine, frame: Frame, owner: Value, args: tuple[Value, ...]) -> None:
    """Store `self.register_buffer("bank", tensor)` as an attribute."""
    atom = owner.atoms[0] if len(owner.atoms) == 1 else None
    if isinstance(owner.object, Instance) and isinstance(atom, Symbol) and len(args) > 1:
        name = args[0].constant
        if isinstance(name, str):
            frame.stores[(atom.key, name)] = args[1]
            machine.heap[(atom.key, name)] = args[1]


def rebind(machine: Machine, frame: Frame, node: ast.expr, value: Value) -> None:
    """Bind a name or attribute to its container after that was filled."""
    if isinstance(node, ast.Name):
        before = frame.env.get(node.id)
        if before is not None:
            frame.env[node.id] = value.with_tags(value.tags | before.tags)
    elif isinstance(node, ast.Attribute):
        owner = frame.env.get(node.value.id) if isinstance(node.value, ast.Name) else None
        atom = owner.atoms[0] if owner is not None and len(owner.atoms) == 1 else None
        if owner is not None and isinstance(owner.object, Instance) and isinstance(atom, Symbol):
            frame.stores[(atom.key, node.attr)] = value
            machine.heap[(atom.key, node.attr)] = value


def put_in_order(machine: Machine, frame: Frame, node: ast.expr, listed: Value) -> None:
    """Bind a name or attribute to its list after that was sorted: `names.sort()`."""
    in_order = listed.with_tags(listed.tags & ~SET_ORDER)
    if isinstance(node, ast.Name) and node.id in frame.env:
        frame.env[node.id] = in_order
    else:
        rebind(machine, frame, node, in_order)


def so_far(machine: Machine, key: int | None, name: str, value: Value | None) -> Value | None:
    """An attribute that begins as an empty container, with everything that the program has added so far."""
    obj = value.object if value is not None else None
    empty = (isinstance(obj, Table) and not obj.entries and obj.rest is None) or (
        isinstance(obj, Items) and not obj.items)  # fmt: skip
    filled = machine.heap.get((key, name)) if empty and key is not None else None
    return filled if filled is not None and isinstance(filled.object, (Table, Items, Listed)) else value
