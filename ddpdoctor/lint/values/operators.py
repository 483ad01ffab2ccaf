"""Results of operators on known operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ddpdoctor.model.late_pattern import late_pattern

_WIDE = late_pattern(r"\*|[0-9]{3}")


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str) and _WIDE.search(a):
        raise ValueError("a text of that width is of no use to anybody")
    return a % b


def _identical(a: Any, b: Any) -> bool:
    """`is` between constants: equal constants of a type may be one object, `1` and `True` never are."""
    return a.__class__ is b.__class__ and bool(a == b)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
    "Div": operator.truediv,
    "Mod": _remainder,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": _identical,
    "IsNot": lambda a, b: not _identical(a, b),
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}
