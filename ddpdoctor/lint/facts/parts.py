"""The parts of a tuple or list that are known one by one."""

from __future__ import annotations

from ddpdoctor.lint.facts.things import Instance, Items
from ddpdoctor.lint.facts.values import Taint, Value


def parts_of(value: Value) -> tuple[Value, ...] | None:
    """Every part, None where they are not known: of a display, of a constant, of a NamedTuple as it was made."""
    thing = value.thing
    if isinstance(thing, Items):
        return thing.items
    if isinstance(thing, Instance):
        from ddpdoctor.lint.facts import bases

        return thing.args if bases.is_tuple(thing.info) and not thing.keywords else None
    constants = value.elements
    return None if constants is None else tuple(Value((c,), Taint.UNIFORM) for c in constants)
