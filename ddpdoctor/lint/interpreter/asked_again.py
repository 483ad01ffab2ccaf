"""What a function asks again of a value that it has chosen among a few constants: one side is then never taken.

if kind == "text":
    sample = {"data": data, "form": "text"}
elif kind == "scan":
    sample = {"data": data, "form": "3D image"}
...
if kind != "text":
    if "3D" in sample["form"]:
        ...
    else:
        sys.exit()
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

from ddpdoctor.program.enclosing import conditions_met, statements_around
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.text import text_of

#: what is known where a branch ends: constants by how they are written, `kind`, `sample['form']`
_Known = dict[str, Any]
_ASKS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
#: most alternatives that are tried
_MOST = 24
#: methods by which a dict gets other values
_CHANGING = frozenset({"update", "pop", "popitem", "clear", "setdefault"})


def only_side(scope: ast.AST, node: ast.If) -> bool | None:
    """The side of a branch that alone can be taken, whichever of a few constants an earlier branch of the function has
    chosen; None if either can, or that is not known."""
    known: list[bool | None] | None = node.__dict__.get("_only_side")
    if known is None:
        known = node.__dict__["_only_side"] = [_only_side(scope, node) if _asks_for_text(node.test) else None]
    return known[0]


def _asks_for_text(test: ast.expr) -> bool:
    """Whether it compares something with a text."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _ASKS:
        return False
    parts = [part for side in (test.left, test.comparators[0]) for part in (side, *getattr(side, "elts", ()))]
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def _only_side(scope: ast.AST, node: ast.If) -> bool | None:
    for holder in (scope, *statements_around(scope, node.lineno)):
        beside = next((block for block in _blocks(holder) if _holds(block, node.lineno)), [])
        at = next((index for index, one in enumerate(beside) if _holds([one], node.lineno)), 0)
        for index, earlier in enumerate(beside[:at]):
            if isinstance(earlier, ast.If) and _asks_for_text(earlier.test):
                side = _side_by(node, _alternatives(scope, earlier), beside[index + 1 : at + 1])
                if side is not None:
                    return side
    return None


def _blocks(holder: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(holder, name, None)
        if isinstance(block, list) and block:
            yield block


def _holds(block: list[ast.stmt], line: int) -> bool:
    return block[0].lineno <= line <= (block[-1].end_lineno or line)


def _side_by(node: ast.If, alternatives: list[_Known], between: list[ast.stmt]) -> bool | None:
    """The only side that is taken with all alternatives that come to a branch; `between`: the statements from where
    they are known up to the one with the branch."""
    changed = _stored(between)
    kept = [_unchanged(one, changed) for one in alternatives]
    met = conditions_met(ast.Module(between, []), node.lineno)
    coming = [one for one in kept if not any(_answer(test, one) is False for test in met)]
    answers = {_answer(node.test, one) for one in coming}
    return next(iter(answers)) if len(answers) == 1 else None


def _alternatives(scope: ast.AST, chain: ast.If) -> list[_Known]:
    """What is known behind each side of an if/elif that goes on; nothing if a side gives no constants."""
    found: list[_Known] = []
    asked: Set[str] | None = None
    left: list[ast.stmt] = [chain]
    taken: list[ast.expr] = []
    while len(left) == 1 and isinstance(left[0], ast.If):
        arm = left[0]
        subject = _subject(arm.test)
        if subject is None or (asked is not None and asked != {subject[0]}):
            return []
        asked = {subject[0]}
        taken.append(arm.test)
        if not _ends(arm.body):
            found.append(_given(arm.body, {subject[0]: subject[1]}))
        left = arm.orelse
    if left and not _ends(left):
        found.append(_given(left, {}))
    elif not left:
        found += _others(scope, chain, taken, asked or frozenset())
    return found if len(found) <= _MOST else []


def _subject(test: ast.expr) -> tuple[str, Any] | None:
    """What is asked whether it is one constant: `kind == "text"`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    value = test.comparators[0]
    called = any(isinstance(part, ast.Call) for part in walk(test.left))
    return (text_of(test.left), value.value) if isinstance(value, ast.Constant) and not called else None


def _others(scope: ast.AST, chain: ast.If, taken: list[ast.expr], asked: Set[str]) -> list[_Known]:
    """What is known where no side was taken: nothing, unless it is one of a list in the function, and which."""
    name = next(iter(asked), "")
    values = _chosen_from(scope, chain, name)
    if values is None:
        return [{}]
    each: list[_Known] = [{name: value} for value in values]
    return [one for one in each if all(_answer(test, one) is False for test in taken)]


def _chosen_from(scope: ast.AST, chain: ast.If, name: str) -> list[Any] | None:
    """The constants of a list of which a variable is one: `names = ["text", "scan"]`, `kind = names[number]`."""
    given = _assigned(scope, name)
    if given is None or not isinstance(given, ast.Subscript) or given.lineno >= chain.lineno:
        return None
    held = _assigned(scope, text_of(given.value)) if not _is_changed(scope, text_of(given.value)) else None
    values = held.elts if isinstance(held, (ast.List, ast.Tuple)) else held.values if isinstance(held, ast.Dict) else ()
    known = [value.value for value in values if isinstance(value, ast.Constant)]
    return known if known and len(known) == len(values) else None


def _is_changed(scope: ast.AST, name: str) -> bool:
    """Whether a function may change what a variable holds: it asks it for a method, or sets a part of it."""
    parts = (node for node in walk(scope) if isinstance(node, (ast.Attribute, ast.Subscript)))
    return any(text_of(one.value) == name and not _is_read(one) for one in parts)


def _is_read(part: ast.Attribute | ast.Subscript) -> bool:
    return isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load)


def _assigned(scope: ast.AST, name: str) -> ast.expr | None:
    """What a variable is given in a function, if that is one expression alone."""
    stored = [n for n in walk(scope) if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    given = [n for n in walk(scope) if isinstance(n, ast.Assign) and [*map(text_of, n.targets)] == [name]]
    return given[0].value if len(stored) == len(given) == 1 else None


def _given(body: list[ast.stmt], before: _Known) -> _Known:
    """The constants that variables have behind some statements, and those that the dicts in variables have."""
    found = before
    for statement in body:
        found = _unchanged(found, _stored([statement]))
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            found.update(_constants(text_of(statement.targets[0]), statement.value))
    return found


def _constants(name: str, value: ast.expr) -> Iterator[tuple[str, Any]]:
    if isinstance(value, ast.Constant):
        yield name, value.value
    for key, one in zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ():
        if isinstance(key, ast.Constant) and isinstance(one, ast.Constant):
            yield f"{name}[{key.value!r}]", one.value


#: what stands for the parts of what is handed to a function, which may set them, and for attributes where one is called
_PARTS, _ATTRIBUTES = "[]", "()"


def _unchanged(known: _Known, stored: Set[str]) -> _Known:
    """What is still known when some variables, or parts of them, have been set."""
    return {name: value for name, value in known.items() if not any(_sets(one, name) for one in stored)}


def _sets(stored: str, name: str) -> bool:
    if stored == _ATTRIBUTES:
        return "." in name
    if stored.endswith(_PARTS):
        return name.startswith(stored[:-1])
    return name == stored or name.startswith((f"{stored}[", f"{stored}."))


def _stored(statements: list[ast.stmt]) -> Set[str]:
    """What statements may set, as it is written."""
    nodes = [node for statement in statements for node in walk(statement)]
    found = {text_of(_whole(node)) for node in nodes if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
             and not isinstance(node.ctx, ast.Load)}  # fmt: skip
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        found.add(_ATTRIBUTES)
        given = (*call.args, *(keyword.value for keyword in call.keywords))
        found.update(f"{one.id}{_PARTS}" for one in given if isinstance(one, ast.Name))
        if isinstance(call.func, ast.Attribute) and call.func.attr in _CHANGING:
            found.add(text_of(call.func.value))
    return found


def _whole(node: ast.expr) -> ast.expr:
    """What may be another one: of a part whose key is not written, the whole."""
    return node.value if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant) else node


def _ends(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _answer(test: ast.expr, known: Mapping[str, Any]) -> bool | None:
    """The answer to a condition, None if it is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _answer(test.operand, known)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        answers = {_answer(part, known) for part in test.values}
        deciding = isinstance(test.op, ast.Or)
        return deciding if deciding in answers else None if None in answers else not deciding
    ask = _ASKS.get(type(test.ops[0])) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    if ask is None or not isinstance(test, ast.Compare):
        return None
    try:
        return ask(_value(test.left, known), _value(test.comparators[0], known))
    except (LookupError, TypeError):
        return None


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """The value of an expression; LookupError if it is not known."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [_value(part, known) for part in node.elts]
    return known[text_of(node)]
