"""What is in the order of a set of texts: Python salts their hashes, so it is another order in each process.

Only texts that the code shows to be some count: numbers, and tuples of numbers, are in one order everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Made, Method, Table
from ddpdoctor.lint.values.tags import NO_TAGS, Tag, Tags
from ddpdoctor.lint.values.values import Value

#: methods that give a text
_OF_TEXT = frozenset({
    "strip", "lstrip", "rstrip", "lower", "upper", "title", "casefold", "capitalize", "removeprefix", "removesuffix",
})  # fmt: skip
#: methods that give a list of texts
_OF_TEXTS = frozenset({"split", "rsplit", "splitlines"})
#: methods that go through their object as it is
_KEEPING = frozenset({"keys", "values", "items", "copy", "union", "intersection", "difference", "symmetric_difference"})
#: calls that go through their first argument as it is
_GOING_THROUGH = frozenset({
    "builtins.list", "builtins.tuple", "builtins.iter", "builtins.enumerate", "builtins.reversed", "builtins.set",
    "builtins.frozenset", "builtins.dict.fromkeys",
})  # fmt: skip
_DEEPEST = 6


def is_in_one(value: Value, depth: int = _DEEPEST) -> bool:
    """Whether a value is a set of texts, or what is kept in the order of one."""
    if value.tags & Tag.OF_SET or not depth:
        return bool(value.tags & Tag.OF_SET)
    obj = value.object
    if isinstance(obj, Method):
        return obj.name in _KEEPING and is_in_one(obj.receiver, depth - 1)
    of_method = isinstance(obj, Made) and obj.path[:2] == "?." and obj.path[2:] in _KEEPING
    passes = isinstance(obj, Made) and bool(obj.args) and (of_method or obj.path in _GOING_THROUGH)
    return passes and is_in_one(obj.args[0], depth - 1)


def of_display(node: ast.AST, items: Iterable[Value]) -> Tags:
    """Of `{"loss", "accuracy"}`."""
    return Tag.OF_SET if isinstance(node, ast.Set) and _are_texts(items) else NO_TAGS


def of_comprehension(node: ast.AST, over: Iterable[Value]) -> Tags:
    """Of `{name.strip() for name in names}`, and of what is made element by element of such a set."""
    if isinstance(node, ast.SetComp):
        return Tag.OF_SET if _is_text(node.elt) else NO_TAGS
    return Tag.OF_SET if any(map(is_in_one, over)) else NO_TAGS


def of_call(path: str, args: tuple[Value, ...], node: ast.Call) -> Tags:
    """Of `set(line.split(","))`, `set(["loss", "accuracy"])`, `set(name.lower() for name in names)`."""
    if path not in ("builtins.set", "builtins.frozenset") or len(args) != 1 or not node.args:
        return NO_TAGS
    obj, written = args[0].object, node.args[0]
    if isinstance(written, (ast.GeneratorExp, ast.ListComp)) and _is_text(written.elt):
        return Tag.OF_SET
    if isinstance(obj, Method) and obj.name in ("keys", *_OF_TEXTS):
        obj = obj.receiver.object if obj.name == "keys" else obj
    if isinstance(obj, Table):
        return Tag.OF_SET if len(obj.entries) > 1 else NO_TAGS
    of_texts = (isinstance(obj, Method) and obj.name in _OF_TEXTS) or _are_texts(containers.parts_of(args[0]) or ())
    return Tag.OF_SET if of_texts else NO_TAGS


def _are_texts(values: Iterable[Value]) -> bool:
    """Whether two at least are, and all that are known."""
    known = [value.constant for value in values if value.known]
    return len(known) > 1 and all(isinstance(one, str) for one in known)


def _is_text(node: ast.expr) -> bool:
    """Whether an element is written as a text."""
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return function.attr in _OF_TEXT
        return isinstance(function, ast.Name) and function.id == "str"
    return isinstance(node, ast.JoinedStr)
