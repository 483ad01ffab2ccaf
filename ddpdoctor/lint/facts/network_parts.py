"""Which part of which network a value is, and whose parameters a value holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made, Method, Table
from ddpdoctor.lint.values.iteration import PARAMETER
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.record import record

#: (the identity of an object, the names of the attributes that lead from it to the part)
Part: TypeAlias = "tuple[int, tuple[str, ...]]"

#: attributes from one part to another at most
_DEPTH = 8
#: calls that give the parameters of a network, or one of them: their first argument
_OF_NETWORK = frozenset({"?.parameters", "?.named_parameters", PARAMETER})
#: calls that hand on all that they are given, or a part of it
_HANDING_ON = frozenset({
    "builtins.list", "builtins.tuple", "builtins.set", "builtins.iter", "builtins.sorted", "builtins.filter",
    "builtins.dict", "itertools.chain", "?.values", "?.items", "?.copy",
})  # fmt: skip


def holds(value: Value, depth: int = _DEPTH) -> Iterator[Value]:
    """The networks whose parameters a value has in it: a list, groups of them with options, one parameter."""
    obj = value.object
    inside: tuple[Value, ...] = ()
    if isinstance(obj, Made):
        if obj.path in _OF_NETWORK:
            yield from obj.args[:1]
        inside = (*obj.args, *(v for name, v in obj.keywords if name == "*")) if obj.path in _HANDING_ON else ()
    elif isinstance(obj, Method):
        inside = (obj.receiver,) if f"?.{obj.name}" in _HANDING_ON else ()
    elif isinstance(obj, Items):
        inside = obj.items
    elif isinstance(obj, Listed):
        inside = (obj.element,) if obj.element is not None else ()
    elif isinstance(obj, Table):
        inside = tuple(v for _, v in obj.entries) + ((obj.rest,) if obj.rest is not None else ())
    for part in inside if depth else ():
        yield from holds(part, depth - 1)


@record(eq=False, slots=True)
class Parts:
    """The parts of the networks of one file."""

    #: what has an object as an attribute, and its name, by the object's identity; None if several have it
    _owners: dict[int, tuple[int, str] | None]

    @classmethod
    def of(cls, facts: ModuleFacts) -> Parts:
        owners: dict[int, tuple[int, str] | None] = {}
        for (owner, name), value in facts.analysis.heap.items():
            key = symbol_key(value)
            if key is not None and key != owner:
                owners[key] = (owner, name) if owners.get(key, (owner, name)) == (owner, name) else None
        return cls(owners)

    def part(self, value: Value, depth: int = _DEPTH) -> Part | None:
        """The part that a value is; a wrapper is the network that it wraps."""
        wrapper = wrapping.wrapper_of(value)
        wrapped = wrapper.argument(0, "module") if wrapper is not None else _sharded(value)
        if wrapped is not None:
            return self.part(wrapped, depth - 1) if depth else None
        obj, key = value.object, symbol_key(value)
        named = by_name(value)
        if named is not None and depth:
            owner, name = self.part(named[0], depth - 1), named[1].constant
            return (owner[0], (*owner[1], *name.split("."))) if owner and isinstance(name, str) else None
        if isinstance(obj, Method) and depth and (key is None or key not in self._owners):
            of_wrapper = obj.name == "module" and wrapping.wrapper_of(obj.receiver) is not None
            owner = self.part(obj.receiver, depth - 1)
            return owner if owner is None or of_wrapper else (owner[0], (*owner[1], obj.name))
        return self.of_key(key) if key is not None else None

    def of_key(self, key: int) -> Part | None:
        """The part that an object is, by its identity."""
        names: tuple[str, ...] = ()
        while key in self._owners and len(names) < _DEPTH:
            owner = self._owners[key]
            if owner is None:
                return None  # objects of one class, which one line makes
            key, name = owner
            names = (name, *names)
        return key, names


#: calls that give a part of a network by its name: (the network, the name)
_BY_NAME = frozenset({"?.get_submodule", "builtins.getattr"})


def by_name(value: Value) -> tuple[Value, Value] | None:
    """The network of which a part is taken by its name, and the name: `net.get_submodule(name)`."""
    made = value.object
    if not isinstance(made, Made) or made.path not in _BY_NAME or len(made.args) < 2 or made.opaque:
        return None
    return made.args[0], made.args[1]


def _sharded(value: Value) -> Value | None:
    """The network in FSDP's wrapper."""
    made = value.object
    return made.argument(0, "module") if isinstance(made, Made) and made.path == aliases.FSDP else None


def contains(whole: Part, part: Part) -> bool:
    """Whether one is the other, or in it."""
    return whole[0] == part[0] and part[1][: len(whole[1])] == whole[1]
