"""What is in the order of a set of texts: Python salts their hashes, so it is another order in each process.

Only texts that the code shows to be some count: numbers, and tuples of numbers, are in one order everywhere. What is in
the order of any set is known as well, since what becomes of its elements may show that they are texts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Listed, Made, Method, Table
from ddpdoctor.lint.values.tags import NO_TAGS, SET_ORDER, Tag, Tags, union
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


def is_in_one(value: Value) -> bool:
    """Whether a value is a set of texts, or what is kept in the order of one."""
    return bool(order_of(value) & Tag.OF_SET)


def order_of(value: Value, depth: int = _DEEPEST) -> Tags:
    """Whether a value is a set of texts, or of whatever, or what is kept in the order of one."""
    if value.tags & SET_ORDER or not depth:
        return value.tags & SET_ORDER
    obj = value.object
    if isinstance(obj, Method):
        return order_of(obj.receiver, depth - 1) if obj.name in _KEEPING else NO_TAGS
    of_method = isinstance(obj, Made) and obj.path[:2] == "?." and obj.path[2:] in _KEEPING
    passes = isinstance(obj, Made) and bool(obj.args) and (of_method or obj.path in _GOING_THROUGH)
    return order_of(obj.args[0], depth - 1) if passes else NO_TAGS


def of_element(over: Value) -> Tags:
    """Of what is taken out of something of which no more is known than whether it is a set."""
    return Tag.IN_SET if order_of(over) & Tag.OF_ANY_SET else NO_TAGS


def of_display(node: ast.AST, items: Sequence[Value]) -> Tags:
    """Of `{"loss", "accuracy"}`."""
    return _set_of(texts=_are_texts(items)) if isinstance(node, ast.Set) and len(items) > 1 else NO_TAGS


def _set_of(*, texts: bool) -> Tags:
    return SET_ORDER if texts else Tag.OF_ANY_SET


def of_comprehension(node: ast.AST, over: Sequence[Value], key: Value) -> Tags:
    """Of `{name.strip() for name in names}`, and of what is made element by element of such a set; `key`: of a dict
    what its keys are, of others any of their elements."""
    if isinstance(node, ast.SetComp):
        return _set_of(texts=_is_text(node.elt) or _is_one_of_texts(node, over))
    tags = union(map(order_of, over))
    return tags if not isinstance(node, ast.DictComp) or key.tags & Tag.IN_SET else tags & ~Tag.OF_ANY_SET


def _is_one_of_texts(node: ast.SetComp, over: Sequence[Value]) -> bool:
    """`{name for name in line.split(",") if name}`"""
    taken = zip((text_of(generator.target) for generator in node.generators), over, strict=True)
    return any(name == text_of(node.elt) and has_texts(gone_through) for name, gone_through in taken)


def of_call(path: str, args: tuple[Value, ...], node: ast.Call) -> Tags:
    """Of `set(line.split(","))`, `set(["loss", "accuracy"])`, `set(name.lower() for name in names)`."""
    if path not in ("builtins.set", "builtins.frozenset"):
        return NO_TAGS
    written = node.args[0] if len(args) == len(node.args) == 1 else None
    each = written.elt if isinstance(written, (ast.GeneratorExp, ast.ListComp)) else None
    return _set_of(texts=written is not None and ((each is not None and _is_text(each)) or has_texts(args[0])))


#: operators that make a set of the keys of a dict
_OF_KEYS = frozenset({"BitAnd", "BitOr", "BitXor", "Sub"})


def of_keys(operator: str, left: Value, right: Value) -> Tags:
    """Of `sums.keys() & names`, which gives a set: of texts if the names are some, or the keys."""
    views = [isinstance(side.object, Method) and side.object.name == "keys" for side in (left, right)]
    if operator not in _OF_KEYS or not any(views):
        return NO_TAGS
    if operator != "Sub":
        return _set_of(texts=has_texts(left) or has_texts(right))
    # who takes texts away from keys has texts for keys
    taken = [value.constant for value in containers.parts_of(right) or () if value.known]
    return _set_of(texts=has_texts(left) or (views[0] and any(isinstance(one, str) for one in taken)))


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
