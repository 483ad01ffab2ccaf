"""Which settings a line needs, or it does not run: what the conditions around it ask. Pure."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence

from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import conditions_met, innermost_function, negated
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import last_name, walk


class Needed(NamedTuple):
    """A setting that has to be given for a line to run, by the name under which the program reads it."""

    name: str
    #: the condition on it that has to hold
    test: ast.expr

    @property
    def is_one_of_several(self) -> bool:
        """Whether the condition asks for one text of perhaps several: with another one, something else may run."""
        compared = self.test.comparators[0] if isinstance(self.test, ast.Compare) else None
        return isinstance(compared, ast.Constant) and isinstance(compared.value, str)

    def is_met_by(self, value: str) -> bool:
        """Whether a text that is given as the setting may be what the condition asks for."""
        return not (value and self.is_one_of_several and _is_false(self.test, ast.Constant(value)))


class Settings(NamedTuple):
    """What a program may be set to."""

    #: the name of the setting that an expression reads, "" if it reads none
    read: Callable[[ast.expr], str]
    #: the values that a setting may have, by its name: none if they are unknown
    values: Callable[[str], Sequence[ast.expr | None]]


def option(node: ast.expr) -> str:
    """The option of a command line that an attribute reads from where such are kept; "" if it is another one."""
    return last_name(node) if isinstance(node, ast.Attribute) and _keeps(node.value) else ""


def setting(node: ast.expr) -> str:
    """The setting that is read of any part of what keeps them, by its own name: `cfg.TRAIN.EMA`,
    `opt["logger"]["project"]`, `config.get("fp8")`; "" if it is none."""
    name, inner = _part(node)
    while name and not _keeps(inner):
        further, inner = _part(inner)
        name = name if further else ""
    return name


def asked_for(node: ast.expr) -> str:
    """The setting that is asked for, and is nothing where nobody sets it: `config.get("load")`; "" if it is none."""
    if not isinstance(node, ast.Call) or node.keywords or not all(map(_is_nothing, node.args[1:])):
        return ""
    return setting(node)


def _keeps(node: ast.expr) -> bool:
    return last_name(node).lower() in vocabulary.SETTINGS_NAMES


def _part(node: ast.expr) -> tuple[str, ast.expr]:
    """The name of the part that is read of something, "" if none is, and what it is read of."""
    if isinstance(node, ast.Attribute):
        return node.attr, node.value
    if isinstance(node, ast.Subscript):
        key, inner = node.slice, node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        key, inner = node.args[0], node.func.value
    else:
        return "", node
    return (key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""), inner


def needed_at(tree: ast.Module, line: int, settings: Settings) -> Iterator[Needed]:
    """The settings with none of whose values a line runs."""
    for test in conditions_met(tree, line):
        yield from _needed(settings, test)
        for name in _there(test):
            yield from _needed_for(tree, line, name, settings)


def _there(test: ast.expr) -> Iterator[str]:
    """The variables that have to hold something for a condition to hold: `scaler is not None`."""
    for part in _parts(test):
        asks_none = isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.IsNot) and len(part.ops) == 1
        asked = part.left if isinstance(part, ast.Compare) and asks_none else part
        if isinstance(asked, ast.Name):
            yield asked.id


def _needed_for(tree: ast.Module, line: int, name: str, settings: Settings) -> Iterator[Needed]:
    """The settings with none of whose values a variable of the function around a line holds something: it is nothing
    but where conditions on them hold."""
    function = innermost_function(tree, line)
    held = [one for one in _given(function, name) if not _is_nothing(one.value)] if function is not None else []
    ways = [[*_needed_by(tree, one, settings)] for one in held]
    in_all = frozenset.intersection(*(frozenset(one.name for one in way) for way in ways)) if ways else ()
    yield from (needed for way in ways[:1] for needed in way if needed.name in in_all)


def _given(function: FunctionNode, name: str) -> list[ast.Assign]:
    """The assignments that give a variable of a function what it holds, if it may be nothing; none if something else
    may."""
    nodes = walk(function)
    stored = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    given = [n for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1 and n.targets[0] in stored]
    alone = len(given) == len(stored) and any(_may_be_nothing(one.value) for one in given)
    return given if alone else []


def _needed_by(tree: ast.Module, given: ast.Assign, settings: Settings) -> Iterator[Needed]:
    """The settings without which an assignment gives nothing."""
    chosen = given.value
    own = (chosen.test,) if isinstance(chosen, ast.IfExp) and _is_nothing(chosen.orelse) else ()
    for test in (*conditions_met(tree, given.lineno), *own):
        yield from _needed(settings, test)


def _may_be_nothing(value: ast.expr) -> bool:
    return _is_nothing(value) or (isinstance(value, ast.IfExp) and _is_nothing(value.orelse))


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _parts(test: ast.expr) -> Sequence[ast.expr]:
    """What has to hold for a condition to hold."""
    inner = _denied(test)
    if isinstance(inner, ast.BoolOp) and isinstance(inner.op, ast.Or):
        return [negated(one) for one in inner.values]
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else (test,)


def _denied(test: ast.expr) -> ast.expr | None:
    """What a condition is the opposite of."""
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None


#: functions that say no of nothing: of an empty path, of an empty list
_NO_OF_NOTHING = frozenset({"exists", "isfile", "isdir", "len", "bool"})
_COMPARISONS = {ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Eq: operator.eq, ast.NotEq: operator.ne}


def _needed(settings: Settings, test: ast.expr) -> Iterator[Needed]:
    """The settings with none of whose values a condition holds."""
    for part in _parts(test):
        plain = _denied(part) or part
        asked = plain.left if isinstance(plain, ast.Compare) else plain
        if isinstance(asked, ast.Call) and asked is part and last_name(asked.func) in _NO_OF_NOTHING and asked.args:
            asked = asked.args[0]
        name = settings.read(asked)
        known = settings.values(name) if name else ()
        if known and all(_is_false(part, value) for value in known):
            yield Needed(name, part)


def _is_false(test: ast.expr, value: ast.expr | None) -> bool:
    """Whether a condition on a setting does not hold where it has this value."""
    held = _held(_denied(test) or test, value.value) if isinstance(value, ast.Constant) else None
    return held is not None and held is (_denied(test) is not None)


def _held(test: ast.expr, value: object) -> bool | None:
    """Whether a condition that is not negated holds for a value, None if that cannot be told."""
    if not isinstance(test, ast.Compare):
        return bool(value)
    other = test.comparators[0]
    if len(test.ops) > 1 or not isinstance(other, ast.Constant):
        return None
    if isinstance(test.ops[0], ast.Gt):
        return False if not value and other.value == 0 else None
    compare = _COMPARISONS.get(type(test.ops[0]))
    return compare(value, other.value) if compare is not None else None
