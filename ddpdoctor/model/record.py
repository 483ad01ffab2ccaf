"""Dataclasses that cost little. To the type checker they are the standard library's, frozen ones included.

Making some fifty dataclasses took a quarter of the time in which one file is linted, and filling frozen ones a
fifteenth of a long run: so nothing here is compiled but `__init__`, when the first record is made, and that a frozen
record is not written to is for the type checker to see alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["field", "fields_of", "record", "replace"]


def fields_of(kind: type) -> dict[str, bool] | None:
    """The fields that a record or dataclass is made of, and whether each has to be given; None for another type."""
    names = getattr(kind, "_fields", None)
    if isinstance(names, dict):  # of a named tuple it is a tuple
        return names
    if not hasattr(kind, "__dataclass_fields__"):
        return None
    from dataclasses import MISSING, fields  # where a dataclass is, it has been imported

    made = (one for one in fields(kind) if one.init)
    return {one.name: one.default is MISSING and one.default_factory is MISSING for one in made}


if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import field, replace
else:
    from operator import attrgetter

    _NOTHING = object()

    class field:  # noqa: N801 - stands for dataclasses.field
        """What is said of one field beside its type."""

        __slots__ = ("compare", "default", "default_factory")

        def __init__(self, *, default=_NOTHING, default_factory=_NOTHING, compare=True):
            self.default, self.default_factory, self.compare = default, default_factory, compare

    def record(*, frozen=False, eq=True, slots=False):
        """As `dataclasses.dataclass`, with its defaults; fields are not inherited."""

        def decorate(cls):
            names = list(cls.__annotations__)
            told = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
            said = {name: f if isinstance(f, field) else field(default=f) for name, f in told.items()}
            required = {name: name not in said for name in names}
            methods = {"__repr__": _repr, "_fields": required}
            if eq:
                methods |= _comparison([n for n in names if n not in said or said[n].compare], frozen=frozen)
            if slots:
                body = {k: v for k, v in cls.__dict__.items() if k not in told and k not in ("__dict__", "__weakref__")}
                cls = type(cls)(cls.__name__, cls.__bases__, {**body, **methods, "__slots__": tuple(names)})
            else:
                for name, value in methods.items():
                    setattr(cls, name, value)
            cls.__init__ = _first_init(cls, names, said)
            return cls

        return decorate

    def replace(one, /, **changes):
        """A copy with other values in some fields."""
        return one.__class__(**{**{name: getattr(one, name) for name in one._fields}, **changes})

    def _first_init(cls, names, said):
        """What stands in for `__init__` until there is a first record to make."""

        def __init__(self, /, *given, **named):  # noqa: N807
            cls.__init__ = _init(names, said)
            cls.__init__(self, *given, **named)

        return __init__

    def _init(names, said):
        parameters, lines, scope = [], [], {"_nothing": _NOTHING}
        for name in names:
            own, value = said.get(name), name
            if own is None:
                parameters.append(name)
            elif own.default_factory is not _NOTHING:
                scope[f"_make_{name}"] = own.default_factory
                parameters.append(f"{name}=_nothing")
                value = f"_make_{name}() if {name} is _nothing else {name}"
            else:
                scope[f"_default_{name}"] = own.default
                parameters.append(f"{name}=_default_{name}")
            lines.append(f"    self.{name} = {value}\n")
        exec(f"def __init__(self, {', '.join(parameters)}):\n{''.join(lines)}", scope)
        return scope["__init__"]

    def _comparison(names, *, frozen):
        values = attrgetter(*names)

        def __eq__(self, other):  # noqa: N807
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self):  # noqa: N807
            return hash(values(self))

        return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}

    def _repr(self):
        return f"{self.__class__.__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self._fields)})"
