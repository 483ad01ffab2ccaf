"""What the objects of the project hold: their attributes, from what their own methods store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import filling, signals
from ddpdoctor.lint.facts.classes import find_method, mro
from ddpdoctor.lint.facts.frame import Frame, filled_up, left_alone
from ddpdoctor.lint.facts.modules import FunctionInfo
from ddpdoctor.lint.facts.things import Function, Instance, Site
from ddpdoctor.lint.facts.values import (
    NO_TAGS,
    WORLD,
    Atom,
    Symbol,
    Taint,
    Value,
    of_thing,
    per_rank,
    symbol_key,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis


def instance_value(analysis: Analysis, frame: Frame, owner: Value, thing: Instance, name: str) -> Value | None:
    """`self.name`, from what the object's own methods (its `__init__` first) store."""
    from ddpdoctor.lint.facts import bases

    if any(signals.handles(method) for method in thing.info.stores.get(name, ())):
        return signals.raised("signal", id(thing.info), name)
    key = symbol_key(owner)
    if key is not None and (key, name) in frame.stores:
        here = frame.stores[(key, name)]
        if left_alone(key, name) in here.atoms:
            here = filled_up(here, key, name, _stored(analysis, owner, thing, name, elsewhere=True))
        return _whole(here, key, name)
    if key is not None and name not in thing.info.stores and bases.has_fields(thing.info):
        given = analysis.heap.get((key, name)) or bases.given_field(analysis, thing, name)
        if given is not None:
            return given
    if key is not None and find_method(analysis, thing.info, "__init__") in analysis.stack:
        # a method that `__init__` calls sees what was stored so far
        so_far = analysis.heap.get((key, name))
        if so_far is not None:
            return so_far
    cached_key = (thing.info, thing.site, name)
    if cached_key in analysis.attributes:
        return filling.so_far(analysis, key, name, analysis.attributes[cached_key])
    analysis.attributes[cached_key] = None
    value = _stored(analysis, owner, thing, name)
    analysis.attributes[cached_key] = value
    return filling.so_far(analysis, key, name, value)


def _whole(value: Value, key: int, name: str) -> Value:
    """An object that only some ranks have stored, where it is not known what the others have."""
    if value.thing is None or left_alone(key, name) not in value.atoms:
        return value
    return of_thing(value.thing, key, name).with_tags(value.tags | {"maybe"})


def _stored(
    analysis: Analysis, owner: Value, thing: Instance, name: str, *, elsewhere: bool = False
) -> Value | None:  # fmt: skip
    """What the methods store; `elsewhere`: those that do not run just now."""
    from ddpdoctor.lint.facts import bases

    values: list[Value] = []
    running = False
    init = find_method(analysis, thing.info, "__init__")
    for info in mro(analysis, thing.info):
        for method in info.stores.get(name, ()):
            if method.name == "__init__" and init is not None:
                method = init  # that of a base runs with what it is given by this one
            value = _stores_of(analysis, owner, thing, method).get(name)
            if value is not None:
                values.append(value)
            running = running or (value is None and method.name != "__init__" and method in analysis.stack)
        if not values and name in info.constants:
            analysis.silent += 1
            inside = Frame(info.module)
            values.append(bases.default_of(analysis, inside, analysis.evaluate(inside, info.constants[name])))
            analysis.silent -= 1
        if values:
            break
    if not values:
        return None
    me = symbol_key(owner)
    first = values[0]
    if running and not elsewhere and all(v.known for v in values):
        return unknown("attribute", id(thing.info), name)
    if all(v == first for v in values[1:]):
        return first if me is None else _whole(first, me, name)
    by_rank = _by_rank(owner, thing, name, values)
    if by_rank is not None:
        return by_rank
    informative = [v for v in values if v.thing is not None or len(v.atoms) > 1]
    stand_ins = [v for v in values if v.known and len(v.atoms) == 1 and v.constant in (None, 0, -1)]
    if len(informative) == 1 and len(stand_ins) == len(values) - 1:
        return informative[0].tagged("maybe")
    return unknown("attribute", id(thing.info), name)


def _by_rank(owner: Value, thing: Instance, name: str, values: list[Value]) -> Value | None:
    """An attribute that only some ranks change: one constant on the others."""
    key = symbol_key(owner)
    things = [v for v in values if v.thing is not None]
    if key is None or all(len(v.atoms) == 1 for v in values) or len(things) > 1:
        return None
    if things and len(things[0].atoms) == 1:
        return None
    untouched = left_alone(key, name)
    atoms: list[Atom] = []
    for rank in range(WORLD):
        stored = {v.at(rank) for v in values} - {untouched}
        symbol = Symbol(hash(("attribute", id(thing.info), name)), Taint.UNKNOWN)
        atoms.append(stored.pop() if len(stored) == 1 else symbol)
    if all(isinstance(a, Symbol) for a in atoms):
        return None
    tags = NO_TAGS.union(*(v.tags for v in values))
    return Value(tuple(atoms), Taint.RANK, things[0].thing, tags | {"maybe"}) if things else per_rank(atoms, tags)


def _stores_of(analysis: Analysis, owner: Value, thing: Instance, method: FunctionInfo) -> dict[str, Value]:
    """What one method leaves in `self`, by a silent run of it."""
    cache_key = ("stores", thing.info, thing.site, method)
    cached = analysis.outcomes.get(cache_key)
    if cached is None:
        if method in analysis.stack:
            return {}
        frame = Frame(method.module, None, calls=("",))
        site = Site(method.module.path, method.node.lineno, 1, method.node.lineno, 1)
        args, keywords = (thing.args, thing.keywords) if method.name == "__init__" else ((), ())
        analysis.silent += 1
        heap = dict(analysis.heap)
        try:
            outcome = analysis.call(Function(method, owner), args, keywords, frame, site)
        finally:
            analysis.silent -= 1
            analysis.heap = heap
        if outcome is None:
            return {}
        cached = analysis.outcomes[cache_key] = outcome
    me = symbol_key(owner)
    return {name: value for (key, name), value in cached.stores.items() if key == me}
