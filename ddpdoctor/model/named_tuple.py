"""Named tuples that cost little to make. To the type checker they are `typing.NamedTuple`'s.

The standard library's compile every annotation and a constructor while a module is imported: of the hundred that lint
needs for one file, that was a tenth of its time. Here a constructor is compiled when the first tuple is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import _tuplegetter as _element

    class _Named(tuple):
        """What all named tuples have, as the documentation of `collections.namedtuple` says."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            told = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{self.__class__.__name__}({told})"

        def __getnewargs__(self):
            return tuple(self)

    class _Making(type):
        """Makes of `class Name(NamedTuple)` a class of tuples, which is not of this kind itself."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            names = tuple(body.get("__annotations__", ()))
            defaults = {field: body[field] for field in names if field in body}
            elements = {field: _element(place, "") for place, field in enumerate(names)}
            told = {"__slots__": (), "__match_args__": names, "_fields": names, "_field_defaults": defaults}
            made = type(name, (_Named,), {**body, **elements, **told})
            made.__new__ = staticmethod(_first_constructor(made))
            return made

    def _first_constructor(made):
        """The constructor that stands in until there is a first tuple to make."""

        def __new__(cls, /, *given, **named):  # noqa: N807
            made.__new__ = staticmethod(_constructor(made._fields, made._field_defaults))
            return made.__new__(cls, *given, **named)

        return __new__

    def _constructor(names, defaults):
        parameters = ", ".join(f"{name}=_defaults[{name!r}]" if name in defaults else name for name in names)
        values = "".join(f"{name}, " for name in names)
        scope = {"_defaults": defaults, "_new": tuple.__new__}
        exec(f"def __new__(_cls, {parameters}):\n    return _new(_cls, ({values}))", scope)
        return scope["__new__"]

    class NamedTuple(metaclass=_Making):
        """The base of classes of which `_Making` makes named tuples."""
