"""What is in the order of a set of texts: Python salts their hashes, so it is another order in each process.

Only texts that the code shows to be some count: numbers, and tuples of numbers, are in one order everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Listed, Made, Method, Table
from ddpdoctor.lint.values.tags import NO_TAGS, Tag, Tags
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.text import text_of

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
#: calls that give what their first argument has
_TAKING = _GOING_THROUGH - {"builtins.enumerate"} | {"builtins.sorted"}
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


def of_comprehension(node: ast.AST, over: Sequence[Value]) -> Tags:
    """Of `{name.strip() for name in names}`, and of what is made element by element of such a set."""
    if isinstance(node, ast.SetComp):
        return Tag.OF_SET if _is_text(node.elt) or _is_one_of_texts(node, over) else NO_TAGS
    return Tag.OF_SET if any(map(is_in_one, over)) else NO_TAGS


def _is_one_of_texts(node: ast.SetComp, over: Sequence[Value]) -> bool:
    """`{name for name in line.split(",") if name}`"""
    taken = zip((text_of(generator.target) for generator in node.generators), over, strict=True)
    return any(name == text_of(node.elt) and has_texts(gone_through) for name, gone_through in taken)


def of_call(path: str, args: tuple[Value, ...], node: ast.Call) -> Tags:
    """Of `set(line.split(","))`, `set(["loss", "accuracy"])`, `set(name.lower() for name in names)`."""
    if path not in ("builtins.set", "builtins.frozenset") or len(args) != 1 or not node.args:
        return NO_TAGS
    written = node.args[0]
    if isinstance(written, (ast.GeneratorExp, ast.ListComp)) and _is_text(written.elt):
        return Tag.OF_SET
    return Tag.OF_SET if has_texts(args[0]) else NO_TAGS


#: operators that make a set of the keys of a dict
_OF_KEYS = frozenset({"BitAnd", "BitOr", "BitXor", "Sub"})


def of_keys(operator: str, left: Value, right: Value) -> Tags:
    """Of `sums.keys() & names`, which gives a set: of texts if the names are some, or the keys."""
    views = [isinstance(side.object, Method) and side.object.name == "keys" for side in (left, right)]
    if operator not in _OF_KEYS or not any(views):
        return NO_TAGS
    if operator != "Sub":
        return Tag.OF_SET if has_texts(left) or has_texts(right) else NO_TAGS
    # who takes texts away from keys has texts for keys
    taken = [value.constant for value in containers.parts_of(right) or () if value.known]
    of_texts = has_texts(left) or (views[0] and any(isinstance(one, str) for one in taken))
    return Tag.OF_SET if of_texts else NO_TAGS


def has_texts(value: Value, depth: int = _DEEPEST) -> bool:
    """Whether what can be taken out of it, one by one, are several texts, as the code shows."""
    obj = value.object
    if value.tags & Tag.OF_SET or not depth:
        return bool(value.tags & Tag.OF_SET)
    if isinstance(obj, Method) and obj.name in ("keys", *_OF_TEXTS):
        return obj.name != "keys" or has_texts(obj.receiver, depth - 1)
    if isinstance(obj, Table):
        return len(obj.entries) > 1
    if isinstance(obj, Made):
        return obj.path in _TAKING and bool(obj.args) and has_texts(obj.args[0], depth - 1)
    if isinstance(obj, Listed):
        made = obj.element.object if obj.element is not None else None
        return isinstance(made, Method) and made.name in _OF_TEXT
    return _are_texts(containers.parts_of(value) or ())


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
