"""What a LightningModule logs, in its hooks and in the methods that these call: under which names."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping

from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import frameworks, vocabulary
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import conditions_met
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of


class Step(NamedTuple):
    """A method, and what its caller gives it, by parameter."""

    info: FunctionInfo
    given: Mapping[str, ast.expr]


class Log(NamedTuple):
    """`self.log(name, value)` in a method that a hook calls, with the methods that lead there, the hook first; or an
    entry of the dict that `self.log_dict` is given."""

    steps: tuple[Step, ...]
    call: ast.Call
    name: ast.expr
    value: ast.expr

    def may_be(self, metric: str) -> bool:
        """Whether it logs this metric: under its name, or one that is put together and whose known parts fit; any does
        if the metric is not known."""
        if not metric:
            return True
        pattern = _pattern(self.name, self.steps)
        known = pattern.replace(_ANYTHING, "")
        return bool(known) and re.fullmatch(pattern, metric) is not None


#: methods that are followed from one to the next
_DEEPEST = 3
#: what nobody knows of a name
_ANYTHING = "[^/]+"


def of_hooks(machine: Machine, info: ClassInfo, *, training: bool) -> Iterator[Log]:
    """The logs of the hooks that validate, of the class and its bases in the project; `training`: of those that train
    as well."""
    for name in (*frameworks.VALIDATING, *(frameworks.TRAINING if training else ())):
        hook = find_method(machine, info, name)
        if hook is not None:
            yield from _logs(machine, info, (Step(hook, {}),))


def _logs(machine: Machine, info: ClassInfo, steps: tuple[Step, ...]) -> Iterator[Log]:
    unreached = _unreached(steps[-1])
    for node in walk(steps[-1].info.node):
        if id(node) in unreached or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if text_of(node.func.value) != "self":
            continue
        if node.func.attr == "log" and len(node.args) > 1:
            yield Log(steps, node, *node.args[:2])
            continue
        if node.func.attr == "log_dict" and node.args:
            yield from (Log(steps, node, *entry) for entry in _entries(node.args[0], steps[-1].info.node))
            continue
        method = find_method(machine, info, node.func.attr)
        if method is not None and len(steps) < _DEEPEST and all(step.info is not method for step in steps):
            yield from _logs(machine, info, (*steps, Step(method, _given(method, node))))


def _entries(logged: ast.expr, function: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The names and values of a dict that is written there, or assigned to a variable before."""
    shown = [logged]
    if isinstance(logged, ast.Name):
        assigned = (node for node in walk(function) if isinstance(node, ast.Assign))
        shown = [a.value for a in assigned if any(isinstance(t, ast.Name) and t.id == logged.id for t in a.targets)]
    for made in shown:
        if isinstance(made, ast.DictComp):
            yield made.key, made.value
        elif isinstance(made, ast.Dict):
            yield from ((key, value) for key, value in zip(made.keys, made.values, strict=True) if key is not None)


def _unreached(step: Step) -> set[int]:
    """What a method does not come to with what it is given: `if stage == "train": ...`, given another one."""
    found: set[int] = set()
    for node in walk(step.info.node):
        holds = _truth(node.test, step.given) if isinstance(node, ast.If) else None
        if isinstance(node, ast.If) and holds is not None:
            found.update(id(n) for statement in (node.orelse if holds else node.body) for n in walk(statement))
    return found


def _truth(test: ast.expr, given: Mapping[str, ast.expr]) -> bool | None:
    """Whether a condition on what a method is given holds; None if that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, given)
        return None if inner is None else not inner
    if not isinstance(test, ast.Compare):
        value = given.get(test.id) if isinstance(test, ast.Name) else None
        return bool(value.value) if isinstance(value, ast.Constant) else None
    value = given.get(test.left.id) if isinstance(test.left, ast.Name) else None
    other = test.comparators[0]
    if not isinstance(value, ast.Constant) or not isinstance(other, ast.Constant):
        return None
    equal = isinstance(test.ops[0], ast.Eq)
    return (value.value == other.value) is equal if equal or isinstance(test.ops[0], ast.NotEq) else None


def _given(method: FunctionInfo, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives a method, by parameter; a default where it gives nothing."""
    arguments = method.node.args
    parameters = [*arguments.posonlyargs, *arguments.args]
    defaults = zip(reversed(parameters), reversed(arguments.defaults), strict=False)
    found = {parameter.arg: value for parameter, value in defaults}
    found.update((p.arg, v) for p, v in zip(parameters[1:], call.args, strict=False) if not isinstance(v, ast.Starred))
    found.update((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)
    return found


def _pattern(name: ast.expr, steps: tuple[Step, ...]) -> str:
    """The expression of a name as a pattern; what is not known of it may be anything."""
    if isinstance(name, ast.Constant):
        return re.escape(str(name.value))
    if isinstance(name, ast.JoinedStr):
        return "".join(_pattern(part, steps) for part in name.values)
    if isinstance(name, ast.FormattedValue):
        return _pattern(name.value, steps) if name.format_spec is None else _ANYTHING
    if isinstance(name, ast.BinOp) and isinstance(name.op, ast.Add):
        return _pattern(name.left, steps) + _pattern(name.right, steps)
    if isinstance(name, ast.Name) and len(steps) > 1 and name.id in steps[-1].given:
        return _pattern(steps[-1].given[name.id], steps[:-1])
    return _ANYTHING


def settings(expression: ast.expr, steps: tuple[Step, ...], info: ClassInfo) -> list[ast.expr]:
    """The dicts that `**expression` may be in the last of these methods, of those that are written in the class or in
    the methods; with something else among them where not all are."""
    if isinstance(expression, ast.Name) and steps and expression.id in steps[-1].given:
        return settings(steps[-1].given[expression.id], steps[:-1], info)
    if isinstance(expression, ast.Attribute) and text_of(expression.value) == "self":
        declared = info.constants.get(expression.attr)
        return [declared] if declared is not None and expression.attr not in info.stores else [expression]
    if not isinstance(expression, ast.Subscript):
        return [expression]
    held = [of for whole in settings(expression.value, steps, info) for of in entries(whole) or [(None, whole)]]
    chosen = _constant(expression.slice, steps)
    fitting = [value for name, value in held if chosen is None or name in (None, chosen)]
    return fitting or [expression]


def entries(made: ast.expr) -> list[tuple[object, ast.expr]] | None:
    """The entries of a dict that is written there; None of other things."""
    if isinstance(made, ast.Dict) and all(isinstance(key, ast.Constant) for key in made.keys):
        return [(getattr(key, "value", None), value) for key, value in zip(made.keys, made.values, strict=True)]
    if isinstance(made, ast.Call) and last_name(made.func) == "dict" and not made.args:
        named = [(keyword.arg, keyword.value) for keyword in made.keywords]
        return list(named) if all(name is not None for name, _ in named) else None
    return None


def _constant(expression: ast.expr, steps: tuple[Step, ...]) -> object:
    """What is known of an expression in the last of these methods: a constant, or None."""
    while isinstance(expression, ast.Name) and steps and expression.id in steps[-1].given:
        expression, steps = steps[-1].given[expression.id], steps[:-1]
    return expression.value if isinstance(expression, ast.Constant) else None


def is_on_first(log: Log) -> bool:
    """Whether rank 0 alone comes to it: under a condition on the rank, or in a method that a decorator leaves to it."""
    nodes: list[list[ast.AST]] = [_calls_of(step, after.info) for step, after in itertools.pairwise(log.steps)]
    nodes.append([log.call])
    for step, calls in zip(log.steps, nodes, strict=True):
        if any(last_name(decorator) in vocabulary.FIRST_RANK_DECORATORS for decorator in step.info.decorators):
            return True
        if calls and all(_is_left_to_first(step.info.node, call) for call in calls):
            return True
    return False


def _calls_of(step: Step, method: FunctionInfo) -> list[ast.AST]:
    """Where a method calls another one of its object."""
    return [node for node in walk(step.info.node) if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute) and node.func.attr == method.name]  # fmt: skip


def _is_left_to_first(function: ast.AST, call: ast.AST) -> bool:
    """Whether a condition in the function leaves the call to rank 0: around it, or one on which the others return
    before."""
    met = conditions_met(function, getattr(call, "lineno", 0))
    return any(_asks_for_first(part) for test in met for part in _conjuncts(test))


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _asks_for_first(test: ast.expr) -> bool:
    """`self.trainer.is_global_zero`, `self.global_rank == 0`"""
    while isinstance(test, ast.UnaryOp) and isinstance(test.operand, ast.UnaryOp):
        test = test.operand.operand
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
        zero = test.comparators[0]
        is_rank = isinstance(test.left, ast.Attribute) and frameworks.RANKS.get(test.left.attr) == "rank"
        return is_rank and isinstance(zero, ast.Constant) and zero.value == 0
    return isinstance(test, ast.Attribute) and test.attr in vocabulary.FIRST_RANK_ATTRIBUTES
