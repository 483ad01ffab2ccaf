"""The same evidence with the ranks renamed wherever one is named, by the types of the model's fields."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.record import fields_of


def renamed(evidence: Evidence, to: Mapping[int, int]) -> Evidence:
    """`to`: a permutation of the job's ranks. The ranks stand in their new order."""
    moved: Evidence = _renamed(Evidence, evidence, lambda rank: Rank(to[rank]))
    return dataclasses.replace(moved, ranks=tuple(sorted(moved.ranks, key=lambda seen: seen.rank)))


def _renamed(kind: Any, value: Any, to: Callable[[int], Rank]) -> Any:
    if value is None:
        return None
    if kind is Rank:
        return to(value)
    if isinstance(value, RankSet):
        return RankSet.of(map(to, value))
    made: Any = type(value)
    fields = fields_of(made)
    if fields is not None:
        hints = _hints(made)
        return made(**{name: _renamed(hints[name], getattr(value, name), to) for name in fields})
    return _inside(kind, value, to)


def _inside(kind: Any, value: Any, to: Callable[[int], Rank]) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (one for one in arguments if one is not types.NoneType)
        return _renamed(inner, value, to)
    if origin is tuple and Ellipsis in arguments:
        return tuple(_renamed(arguments[0], one, to) for one in value)
    if isinstance(value, Mapping):
        return {_renamed(arguments[0], k, to): _renamed(arguments[1], v, to) for k, v in value.items()}
    return value


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)
