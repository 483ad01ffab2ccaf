"""Dataclass <-> JSON values, driven by type hints; the only place where `Any` is narrowed."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from ddpdoctor.model.ranks import RankSet

T = TypeVar("T")


class DecodeError(ValueError):
    """The JSON value does not have the shape of the type; the message names the path to the error."""


def encode(value: object) -> Any:
    """Convert a model value to JSON values. A RankSet becomes a list of ranks, an Enum its value, a set a sorted list;
    what a type works out of its other fields is left out."""
    if isinstance(value, RankSet):
        return list(value.members)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(encode(k)): encode(v) for k, v in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(encode, value))
    if isinstance(value, (tuple, list)):
        return [encode(v) for v in value]
    return value


def decode(kind: type[T], value: Any, path: str = "$") -> T:
    """Build `kind` from JSON values; unknown keys are ignored, so that newer minor versions can be read.

    Raises DecodeError if the value does not fit.
    """
    return typing.cast(T, _decode(kind, value, path))


def _decode(kind: Any, value: Any, path: str) -> Any:
    if isinstance(kind, typing.NewType):
        kind = kind.__supertype__
    if kind is RankSet:
        return RankSet.of(_expect(list, value, path))
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, value, path)
    if typing.get_origin(kind) is None and isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise DecodeError(f"{path}: {value!r} is not a {kind.__name__}") from None
    return _decode_generic(kind, value, path)


def _decode_generic(kind: Any, value: Any, path: str) -> Any:
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (inner,) = (a for a in arguments if a is not type(None))
        return _decode(inner, value, path)
    if origin in (tuple, frozenset):
        items = _expect(list, value, path)
        return origin(_decode(arguments[0], v, f"{path}[{i}]") for i, v in enumerate(items))
    if origin is not None and issubclass(origin, Mapping):
        items = _expect(dict, value, path).items()
        return {_key(arguments[0], k, path): _decode(arguments[1], v, f"{path}.{k}") for k, v in items}
    if kind is float:
        return float(_expect((int, float), value, path))
    return _expect(kind, value, path)


def _key(kind: Any, text: str, path: str) -> Any:
    """A key of a mapping; JSON has texts only, and some of ours are numbers."""
    if getattr(kind, "__supertype__", kind) is not int:
        return _decode(kind, text, path)
    try:
        return int(text)
    except ValueError:
        raise DecodeError(f"{path}: {text!r} is not a number") from None


def _decode_dataclass(kind: Any, value: Any, path: str) -> Any:
    _expect(dict, value, path)
    hints = _hints(kind)
    known: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        if field.name in value:
            known[field.name] = _decode(hints[field.name], value[field.name], f"{path}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise DecodeError(f"{path}: {kind.__name__} has no {field.name!r}")
    return kind(**known)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _expect(kind: Any, value: Any, path: str) -> Any:
    fits = isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)
    if not fits:
        raise DecodeError(f"{path}: expected {getattr(kind, '__name__', kind)}, found {type(value).__name__}")
    return value
