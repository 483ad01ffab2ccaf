"""Any value of a type of the model, made from the types of its fields: a new type needs no word here."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from hypothesis import strategies as st

from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.record import fields_of

_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(st.characters(), max_size=6),
    RankSet: st.frozensets(st.integers(0, 9), max_size=4).map(RankSet.of),
}


def types_in(package: types.ModuleType) -> Iterator[type[Any]]:
    """Every dataclass or record that a module of the package defines."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, type) and fields_of(value) is not None and value.__module__ == found.name:
                yield value


def values(kind: Any, depth: int = 2) -> st.SearchStrategy[Any]:
    """Values of a type. Below `depth` dataclasses what can be empty is empty, and what can be missing is missing."""
    kind = getattr(kind, "__supertype__", kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if isinstance(kind, type) and (fields := fields_of(kind)) is not None:
        hints = _hints(kind)
        drawn = {name: values(hints[name], depth - 1) for name in fields}
        return st.builds(kind, **drawn)
    return _compound(kind, depth)


def _compound(kind: Any, depth: int) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (one for one in arguments if one is not types.NoneType)
        return st.none() | values(inner, depth) if depth > 0 else st.none()
    if origin is not None and depth <= 0:
        return st.just({} if issubclass(origin, Mapping) else origin())
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return st.lists(values(arguments[0], depth), max_size=2).map(tuple)
    if origin is frozenset:
        return st.frozensets(values(arguments[0], depth), max_size=2)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(values(arguments[0], depth), values(arguments[1], depth), max_size=2)
    raise TypeError(f"no values of {kind} are known")


def content(value: Any) -> Any:
    """What a value holds, for comparison: some types are equal only to themselves."""
    fields = fields_of(type(value))
    if fields is not None:
        return type(value), [content(getattr(value, name)) for name in fields]
    if isinstance(value, tuple):
        return tuple(map(content, value))
    return {key: content(one) for key, one in value.items()} if isinstance(value, Mapping) else value


@functools.cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)
