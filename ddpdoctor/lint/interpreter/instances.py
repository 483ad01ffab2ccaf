"""Attributes of the project's objects, from what their own methods store."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter import bases, container_mutation, signals, tensor_mutation, wrapping
from ddpdoctor.lint.interpreter.classes import find_method, mro
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Items, Listed, Made, Table
from ddpdoctor.lint.values.iteration import ITERATOR
from ddpdoctor.lint.values.join import Decision, filled_up, left_alone, merge_stores
from ddpdoctor.lint.values.tags import MADE_UP, Tag, union
from ddpdoctor.lint.values.values import (
    EVERY_RANK,
    WORLD,
    Atom,
    Keywords,
    Symbol,
    Taint,
    Value,
    of_object,
    per_rank,
    symbol,
    symbol_key,
    unknown,
)
from ddpdoctor.program import classes
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.signal_handlers import NO_FLAGS
from ddpdoctor.program.sites import SourceSite

#: attributes of an object as the caller knows them, by object key and name
Carried = tuple[tuple[tuple[int, str], Value], ...]


def carried(frame: Frame, function: Function, given: list[Value]) -> Carried:
    """What a function may read that differs between ranks because of what was stored before it is called: a meter that
    was given each rank's own losses, of its own object or of one that it is handed."""
    if not frame.stores:
        return ()
    key = symbol_key(function.receiver) if function.receiver is not None else None
    handed = {symbol_key(value) for value in given if isinstance(value.object, Instance)} - {key}
    asked = sorted(
        (owner, name) for owner, name in frame.stores
        if (name in function.info.own if owner == key else owner in handed)
    )  # fmt: skip
    return tuple((place, frame.stores[place]) for place in asked if _differs(frame.stores[place]))


def _differs(value: Value) -> bool:
    """Whether it differs by rank, or is a list of what does, or an empty one that may come to be."""
    obj = value.object
    if isinstance(obj, Listed):
        return obj.element is not None and obj.element.taint is Taint.RANK_LOCAL
    if isinstance(obj, Items):
        return not obj.items
    return value.taint is Taint.RANK_LOCAL and (obj is None or tensor_mutation.is_tensor(value))


def left_behind(frame: Frame) -> dict[tuple[int, str], Value]:
    """What a function has stored when it ends: also on ranks whose own data had them return before the end."""
    stores = frame.stores
    for number, (apart, left) in enumerate(frame.left):
        by = Decision((symbol("apart", id(frame.function), number, taint=Taint.RANK_LOCAL),), apart)
        stores = merge_stores(by, left, stores, (EVERY_RANK, EVERY_RANK))
    return stores


def changed(stores: dict[tuple[int, str], Value], before: Carried) -> dict[tuple[int, str], Value]:
    """What a method has stored, of all that it knew at its end."""
    for place, value in before:
        if stores.get(place) is value:
            del stores[place]
    return stores


def of_parent(value: Value) -> Value:
    """What one process has drawn, or read from its clock, and hands to all ranks: equal on them, also inside of what
    holds it."""
    held = value.object
    if isinstance(held, Items):
        value = value.with_object(Items(tuple(map(of_parent, held.items))))
    elif isinstance(held, Table):
        rest = of_parent(held.rest) if held.rest is not None else None
        entries = tuple((key, of_parent(entry)) for key, entry in held.entries)
        value = value.with_object(Table(entries, held.complete, rest))
    drawn = value.tags & (MADE_UP | Tag.RANDOM | Tag.OWN)
    if len(value.atoms) > 1 or not (drawn or value.taint is Taint.RANK_LOCAL):
        return value
    return unknown("of the parent", value.atoms, tags=value.tags & ~drawn).with_object(value.object)


def instance_value(machine: Machine, frame: Frame, owner: Value, obj: Instance, name: str) -> Value | None:
    """`self.name`, from what the object's own methods store, `__init__` first; of an object that the parent of all
    processes has made, what it drew once for all of them."""
    value = _instance_value(machine, frame, owner, obj, name)
    if value is None or not machine.handed or symbol_key(owner) not in machine.handed:
        return value
    inner = symbol_key(value) if isinstance(value.object, Instance) else None
    if inner is not None:
        machine.handed |= {inner}
    return of_parent(value)


def _instance_value(machine: Machine, frame: Frame, owner: Value, obj: Instance, name: str) -> Value | None:
    for info in mro(machine, obj.info):
        flag = signals.part(info.module, (info.name, name)) if info.module.flags is not NO_FLAGS else None
        if flag is not None:
            return flag
    key = symbol_key(owner)
    if key is not None and (key, name) in frame.stores:
        here = frame.stores[(key, name)]
        if left_alone(key, name) in here.atoms:
            here = filled_up(here, key, name, _stored(machine, owner, obj, name, elsewhere=True))
        return _whole(here, key, name)
    if key is not None and name not in obj.info.stores and classes.has_fields(obj.info):
        given = machine.heap.get((key, name)) or bases.given_field(machine, obj, name)
        if given is not None:
            return given
    held = machine.heap.get((key, name)) if key is not None and _is_left_open(machine, obj, name) else None
    if held is not None and isinstance(held.object, Instance):
        return _whole(held, key or 0, name)
    if key is not None and find_method(machine, obj.info, "__init__") in machine.stack:
        # a method that `__init__` calls sees what was stored so far
        so_far = machine.heap.get((key, name))
        if so_far is not None:
            return so_far
    placed = _placed_by_caller(machine, obj, key, name)
    return placed or container_mutation.so_far(machine, key, name, _known(machine, owner, obj, name))


def _is_left_open(machine: Machine, obj: Instance, name: str) -> bool:
    """Whether the class has None for what others put there: `hook.trainer = self`."""
    found = [info for info in mro(machine, obj.info) if name in info.constants]
    stored = any(name in info.stores for info in mro(machine, obj.info))
    declared = found[0].constants[name] if found and not stored else None
    return isinstance(declared, ast.Constant) and declared.value is None


def _placed_by_caller(machine: Machine, obj: Instance, key: int | None, name: str) -> Value | None:
    """What a method which runs now has already stored: the iterator of its loop, or the wrapper in place of the network
    that another one has, also of a base (`self.model = DDP(self.model)`, and then `self.fit()`)."""
    so_far = machine.heap.get((key, name)) if key is not None else None
    if so_far is None or not _is_being_stored(machine, obj, name):
        return None
    made = so_far.object
    return so_far if isinstance(made, Made) and made.path == ITERATOR else wrapping.among([so_far])


def _known(machine: Machine, owner: Value, obj: Instance, name: str) -> Value | None:
    """What the methods store, found once; anew as long as one of them runs: `self.model = DDP(self.model)`."""
    if _is_being_stored(machine, obj, name):
        return _stored(machine, owner, obj, name)
    key = (obj.info, obj.site, name)
    if key not in machine.attributes:
        machine.attributes[key] = None
        machine.attributes[key] = _stored(machine, owner, obj, name)
    return machine.attributes[key]


def _is_being_stored(machine: Machine, obj: Instance, name: str) -> bool:
    """Whether a method that stores the attribute runs now, besides `__init__`."""
    methods = (method for info in mro(machine, obj.info) for method in info.stores.get(name, ()))
    return any(method.name != "__init__" and method in machine.stack for method in methods)


def _whole(value: Value, key: int, name: str) -> Value:
    """An object that only some ranks have stored, while the other ranks' value is not known."""
    if value.object is None or left_alone(key, name) not in value.atoms:
        return value
    return of_object(value.object, key, name).with_tags(value.tags | Tag.MAYBE | Tag.STORED_BY_SOME)


def _stored(
    machine: Machine, owner: Value, obj: Instance, name: str, *, elsewhere: bool = False
) -> Value | None:  # fmt: skip
    """What the methods store; `elsewhere`: those that are not running at the moment."""
    values, running = _values_stored(machine, owner, obj, name)
    if not values:
        return None
    me = symbol_key(owner)
    first = values[0]
    if running and not elsewhere and all(v.known for v in values):
        return unknown("attribute", id(obj.info), name)
    if all(v == first for v in values[1:]):
        if first.known and len(first.atoms) == 1 and _given_later(machine, obj, name):
            return unknown("attribute", id(obj.info), name)
        return first if me is None else _whole(first, me, name)
    one = _by_rank(owner, obj, name, values) or _beside_stand_ins(values) or wrapping.among(values)
    return one if one is not None else unknown("attribute", id(obj.info), name)


def _values_stored(machine: Machine, owner: Value, obj: Instance, name: str) -> tuple[list[Value], bool]:
    """What each method of the nearest class that stores it leaves, and whether a method that may store it runs now."""
    values: list[Value] = []
    running = False
    init = find_method(machine, obj.info, "__init__")
    for info in mro(machine, obj.info):
        for method in info.stores.get(name, ()):
            if method.name == "__init__" and init is not None:
                method = init  # a base's `__init__` runs with the arguments that this one passes
            value = _stores_of(machine, owner, obj, method).get(name)
            if value is not None:
                values.append(value)
            running = running or (value is None and method.name != "__init__" and method in machine.stack)
        if not values and name in info.constants:
            inside = Frame(info.module)
            with machine.quietly():
                values.append(bases.default_of(machine, inside, machine.evaluate(inside, info.constants[name])))
        if values:
            break
    return values, running


def _given_later(machine: Machine, obj: Instance, name: str) -> bool:
    """Whether other code replaces the constant with which the object begins: `callback.trainer = Trainer(...)`."""
    if name in obj.info.module.given:
        return True
    return any(name in module.given for module in machine.reached.values())


def _beside_stand_ins(values: list[Value]) -> Value | None:
    """The one real value, where the others are None, 0 or -1 for want of it."""
    informative = [v for v in values if v.object is not None or len(v.atoms) > 1]
    stand_ins = [v for v in values if v.known and len(v.atoms) == 1 and v.constant in (None, 0, -1)]
    alone = len(informative) == 1 and len(stand_ins) == len(values) - 1
    return informative[0].tagged(Tag.MAYBE) if alone else None


def _by_rank(owner: Value, obj: Instance, name: str, values: list[Value]) -> Value | None:
    """An attribute that only some ranks change: a constant on the others."""
    key = symbol_key(owner)
    objects = [v for v in values if v.object is not None]
    if key is None or all(len(v.atoms) == 1 for v in values) or len(objects) > 1:
        return None
    if objects and len(objects[0].atoms) == 1:
        return None
    untouched = left_alone(key, name)
    atoms: list[Atom] = []
    for rank in range(WORLD):
        stored = {v.at(rank) for v in values} - {untouched}
        atoms.append(stored.pop() if len(stored) == 1 else symbol("attribute", id(obj.info), name))
    if all(isinstance(a, Symbol) for a in atoms):
        return None
    tags = union(v.tags for v in values)
    return Value(tuple(atoms), Taint.RANK, objects[0].object, tags | Tag.MAYBE) if objects else per_rank(atoms, tags)


#: arguments of which nothing is known
_ANY: Keywords = (("**", unknown("arguments")),)


def _stores_of(machine: Machine, owner: Value, obj: Instance, method: FunctionInfo) -> dict[str, Value]:
    """What one method stores in `self`, found by running it silently."""
    cache_key = (obj.info, obj.site, method)
    cached = machine.stored.get(cache_key)
    if method in machine.stack and (cached is None or method.name != "__init__"):
        return {}  # what it will store is not there yet: `self.model = DDP(self.model)`
    if cached is None:
        frame = Frame(method.module, None, calls=("",))
        site = SourceSite(method.module.path, method.node.lineno, 1, method.node.lineno, 1)
        args, keywords = (obj.args, obj.keywords) if method.name == "__init__" else ((), ())
        if obj.site is None and method.name == "__init__":
            keywords = _ANY  # who makes it, and with what, is not in sight
        heap = dict(machine.heap)
        try:
            with machine.quietly():
                outcome = machine.call(Function(method, owner), args, keywords, frame, site)
        finally:
            machine.heap = heap
        if outcome is None:
            return {}
        cached = machine.stored[cache_key] = outcome
    me = symbol_key(owner)
    return {name: value for (key, name), value in cached.stores.items() if key == me}
