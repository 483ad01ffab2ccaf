"""Dataclasses and records <-> JSON values, driven by type hints; the only place where `Any` is narrowed."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar

from ddpdoctor.model.record import fields_of

T = TypeVar("T")


class Listed:
    """Of a type that is a list of numbers in JSON: `listed` gives it, `of` makes the value of it again."""

    __slots__ = ()

    @classmethod
    def of(cls, numbers: Iterable[int], /) -> Listed:
        raise NotImplementedError

    def listed(self) -> list[int]:
        raise NotImplementedError


class DecodeError(ValueError):
    """The JSON value does not have the shape of the type; the message names the path to the error."""


def encode(value: object) -> Any:
    """Convert a model value to JSON values. A RankSet becomes a list of ranks, an Enum its value, a set a sorted list;
    what a type works out of its other fields is left out."""
    if isinstance(value, Listed):
        return value.listed()
    fields = fields_of(type(value))
    if fields is not None:
        return {name: encode(getattr(value, name)) for name in fields}
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
    if isinstance(kind, type) and issubclass(kind, Listed):
        return kind.of(_expect(list, value, path))
    if isinstance(kind, type) and (fields := fields_of(kind)) is not None:
        return _decode_fields(kind, fields, value, path)
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


def _decode_fields(kind: type, fields: Mapping[str, bool], value: Any, path: str) -> Any:
    _expect(dict, value, path)
    hints = _hints(kind)
    known: dict[str, Any] = {}
    for name, required in fields.items():
        if name in value:
            known[name] = _decode(hints[name], value[name], f"{path}.{name}")
        elif required:
            raise DecodeError(f"{path}: {kind.__name__} has no {name!r}")
    return kind(**known)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _expect(kind: Any, value: Any, path: str) -> Any:
    fits = isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)
    if not fits:
        raise DecodeError(f"{path}: expected {getattr(kind, '__name__', kind)}, found {type(value).__name__}")
    return value
