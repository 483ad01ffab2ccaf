"""Evaluation of expressions on all simulated ranks at once. `Analysis.evaluate` looks each kind up in `EXPRESSIONS`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ddpdoctor.lint.interpreter import conditions, displays, loop_extent
from ddpdoctor.lint.interpreter.attributes import attribute
from ddpdoctor.lint.interpreter.calls import call
from ddpdoctor.lint.interpreter.events import EnclosingLoop, Iteration
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.names import lookup
from ddpdoctor.lint.interpreter.trace import BlockExit
from ddpdoctor.lint.values.abstract_objects import Function, Made
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, NO_TAGS, Tag, Tags, union
from ddpdoctor.lint.values.truths import negate
from ddpdoctor.lint.values.values import Value, binary, const, lift, of_object, unknown
from ddpdoctor.program import indexing


def _constant(_machine: Machine, _frame: Frame, node: Any) -> Value:
    # a sixth of all evaluations: cached on the node, unless the value is a symbol, which belongs to an analysis
    known: Value | None = node.__dict__.get("_value")
    if known is not None:
        return known
    value = node.value
    if isinstance(value, (bytes, complex)) or value is Ellipsis:
        return unknown("constant", id(node))
    if isinstance(value, str) and len(value) > 200:
        return unknown("text", value)
    if isinstance(value, int) and value.bit_length() > 64:
        return unknown("integer", value)
    known = node.__dict__["_value"] = const(value)
    return known


def _name(machine: Machine, frame: Frame, node: Any) -> Value:
    return lookup(machine, frame, node.id)


def _attribute(machine: Machine, frame: Frame, node: Any) -> Value:
    return attribute(machine, frame, machine.evaluate(frame, node.value), node.attr, node)


def _binary(machine: Machine, frame: Frame, node: Any) -> Value:
    left = machine.evaluate(frame, node.left)
    right = machine.evaluate(frame, node.right)
    value = binary(type(node.op).__name__, left, right)
    if isinstance(node.op, ast.Div) and isinstance(left.object, Made) and left.object.path == "pathlib.Path":
        return value.with_object(Made("pathlib.Path", machine.site(frame, node), (left, right)))
    return value


def _unary(machine: Machine, frame: Frame, node: Any) -> Value:
    value = machine.evaluate(frame, node.operand)
    if isinstance(node.op, ast.Not):
        return negate(value)
    if isinstance(node.op, ast.USub):
        return lift("USub", lambda a: -a, (value,))
    return lift(type(node.op).__name__, lambda a: +a, (value,)) if isinstance(node.op, ast.UAdd) else unknown(id(node))


def _lambda(_machine: Machine, frame: Frame, node: Any) -> Value:
    return of_object(Function(indexing.function(frame.module, node), None, frame), id(node))


def _inner(machine: Machine, frame: Frame, node: Any) -> Value:
    return machine.evaluate(frame, node.value) if node.value is not None else const(None)


def _yield(machine: Machine, frame: Frame, node: Any) -> Value:
    value = machine.evaluate(frame, node.value) if node.value is not None else const(None)
    frame.yields_on = frame.yields_on or loop_extent.endless(frame)
    if isinstance(node, ast.YieldFrom):
        over, element = iterated_of(value)
        _begun(machine, frame, node, over)
        frame.yields.append(element)
        frame.yields_share = frame.yields_share or (bool(over.tags & Tag.SHARD) and not frame.yields_on)
    else:
        frame.yields.append(value)
    frame.yields_share = frame.yields_share or loop_extent.yields_share(frame)
    frame.out.append(BlockExit("yield", machine.site(frame, node)))
    return unknown("yield", id(node))


def _begun(machine: Machine, frame: Frame, node: ast.YieldFrom, over: Value) -> None:
    """`yield from loader` goes through it as a loop does."""
    if not machine.silent:
        loop = EnclosingLoop(node, machine.site(frame, node), over, "")
        machine.iterations.append(Iteration(loop, machine.context(frame), len(machine.calls)))


def _named(machine: Machine, frame: Frame, node: Any) -> Value:
    value = machine.evaluate(frame, node.value)
    frame.env[node.target.id] = value
    return value


def _joined(machine: Machine, frame: Frame, node: Any) -> Value:
    """An f-string: equal on all ranks if its parts are."""
    parts = [machine.evaluate(frame, v.value) for v in node.values if isinstance(v, ast.FormattedValue)]
    if not parts:
        return const("".join(str(v.value) for v in node.values if isinstance(v, ast.Constant)))
    text = "".join(_pattern(v) for v in node.values)
    filled = Tag.FILLED if any(isinstance(v, ast.Constant) for v in node.values) else NO_TAGS
    return lift(f"format {text}", lambda *a: text.format(*a), parts).with_tags(_text_tags(parts) | filled)


def _pattern(node: ast.expr) -> str:
    """A piece of an f-string as a piece of a pattern for `str.format`."""
    if isinstance(node, ast.Constant):
        return str(node.value).replace("{", "{{").replace("}", "}}")
    return "{}" if getattr(node, "format_spec", None) is None else "{!s}"


def _text_tags(parts: list[Value]) -> Tags:
    return union(part.tags for part in parts) & (ANY_RANK | Tag.SPAWNED | Tag.RANK_BY_NAME | MADE_UP)


#: the handler of each kind of expression; all others give an unknown
EXPRESSIONS: dict[type[ast.expr], Callable[[Any, Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: conditions.comparison,
    ast.BoolOp: conditions.boolean,
    ast.IfExp: conditions.conditional,
    ast.Call: call,
    ast.Tuple: displays.sequence,
    ast.List: displays.sequence,
    ast.Set: displays.sequence,
    ast.Dict: displays.dictionary,
    ast.Subscript: displays.subscript,
    ast.ListComp: displays.comprehension,
    ast.SetComp: displays.comprehension,
    ast.GeneratorExp: displays.comprehension,
    ast.DictComp: displays.comprehension,
    ast.Lambda: _lambda,
    ast.Await: _inner,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.NamedExpr: _named,
    ast.JoinedStr: _joined,
}
