"""What a condition asks about, and whether it holds where that has a value. Pure."""

from __future__ import annotations

import ast

from ddpdoctor.lint.deferred.needed_settings import setting
from ddpdoctor.program.nodes import last_name

#: methods that ask about a text
_ASKING = frozenset({"startswith", "endswith"})


def asked_by(test: ast.expr) -> ast.expr | None:
    """What a condition asks about, if it asks about one thing alone."""
    if isinstance(test, ast.Compare):
        if len(test.ops) > 1:
            return None
        return test.comparators[0] if isinstance(test.left, ast.Constant) else test.left
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr in _ASKING:
        return test.func.value
    return test


def result(test: ast.expr, value: object, other: object) -> bool | None:
    """Whether a condition holds where what it asks about has a value; None if that cannot be told. `other`: what that
    is compared with by a name."""
    if isinstance(test, ast.Compare):
        left, right = test.left, test.comparators[0]
        known = _constant(right if not isinstance(left, ast.Constant) else left)
        if known is None:
            return _compared(test.ops[0], value, other) if other is not None else None
        sides = (value, known[0]) if not isinstance(left, ast.Constant) else (known[0], value)
        return _compared(test.ops[0], *sides)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr in _ASKING:
        known = _constant(test.args[0]) if len(test.args) == 1 else None
        if known is None or not isinstance(value, str) or not isinstance(known[0], (str, tuple)):
            return None
        return value.startswith(known[0]) if test.func.attr == "startswith" else value.endswith(known[0])
    # what a text or number stands for that is not nothing is not known: a command passes `0` as well
    return bool(value) if not value or isinstance(value, bool) else None


def _constant(node: ast.expr) -> tuple[object] | None:
    """The value of a constant, or of a display of texts."""
    if isinstance(node, ast.Constant):
        return (node.value,)
    if not isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return None
    texts = tuple(one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return (texts,) if len(texts) == len(node.elts) else None


def _compared(operation: ast.cmpop, left: object, right: object) -> bool | None:
    """What a comparison gives, None where it compares what is of another kind."""
    if isinstance(operation, (ast.In, ast.NotIn)):
        if not isinstance(right, (str, tuple)) or not isinstance(left, str):
            return isinstance(operation, ast.NotIn) if left is None and isinstance(right, tuple) else None
        return (left in right) is isinstance(operation, ast.In)
    if isinstance(operation, (ast.Gt, ast.Lt)):
        low, high = (left, right) if isinstance(operation, ast.Lt) else (right, left)
        return low < high if isinstance(low, int) and isinstance(high, int) else None
    equal = isinstance(operation, (ast.Eq, ast.Is))
    if left is None or right is None or (type(left) is type(right) and isinstance(left, (str, int))):
        return (left == right) is equal if equal or isinstance(operation, (ast.NotEq, ast.IsNot)) else None
    return None


def name_of(asked: ast.expr) -> str:
    """What is asked about, as a message names it."""
    return last_name(asked) or setting(asked)
