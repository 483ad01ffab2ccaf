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
from ddpdoctor.lint.values import set_orders
from ddpdoctor.lint.values.abstract_objects import Function, Items, Made
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import ANY_RANK, NO_TAGS, OF_BATCH, Tag, Tags, made_up, of_all_parts, union
from ddpdoctor.lint.values.truths import negate
from ddpdoctor.lint.values.values import Value, binary, const, lift, of_object, unknown
from ddpdoctor.program import indexing

#: characters of a text that is followed
_LONGEST = 200


def _constant(_machine: Machine, _frame: Frame, node: Any) -> Value:
    # a sixth of all evaluations: cached on the node, unless the value is a symbol, which belongs to an analysis
    known: Value | None = node.__dict__.get("_value")
    if known is not None:
        return known
    value = node.value
    if isinstance(value, (bytes, complex)) or value is Ellipsis:
        return unknown("constant", id(node))
    if isinstance(value, str) and len(value) > _LONGEST:
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
    if isinstance(node.op, ast.Add) and isinstance(left.object, Items):
        both = displays.concatenated(left, right, node)
        if both is not None:
            return both
    operator = type(node.op).__name__
    value = binary(operator, left, right)
    of_keys = set_orders.of_keys(operator, left, right)
    if of_keys:
        return value.tagged(of_keys)
    if isinstance(node.op, ast.Div) and isinstance(left.object, Made) and left.object.path == "pathlib.Path":
        return value.with_object(Made("pathlib.Path", machine.site(frame, node), (left, right)))
    return value


def _unary(machine: Machine, frame: Frame, node: Any) -> Value:
    value = machine.evaluate(frame, node.operand)
    if isinstance(node.op, ast.Not):
        return negate(value)
    if isinstance(node.op, ast.USub):
        return lift("USub", lambda a: -a, (value,))
    if isinstance(node.op, ast.Invert):
        return lift("Invert", lambda a: ~int(a), (value,))
    return lift(type(node.op).__name__, lambda a: +a, (value,)) if isinstance(node.op, ast.UAdd) else unknown(id(node))


def _lambda(machine: Machine, frame: Frame, node: Any) -> Value:
    machine.enclosing.append(frame)
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
        apart = over.tags if loop_extent.is_uneven(over) else None
    else:
        frame.yields.append(value)
        apart = loop_extent.yields_apart(frame, node)
    if apart is not None and not frame.yields_on:
        frame.yields_apart = apart | (frame.yields_apart or NO_TAGS)
    frame.yields_share = frame.yields_share or loop_extent.yields_share(frame)
    frame.yields_several = frame.yields_several or loop_extent.yields_several(frame, node)
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
    """An f-string: equal on all ranks if its parts are. With a "/" in it, it is a path, joined of what is between."""
    pieces = [
        str(v.value) if isinstance(v, ast.Constant) else _piece(machine.evaluate(frame, v.value), v)
        for v in node.values
    ]
    value = _filled(pieces)
    if value.known or not _is_path(pieces):
        return value
    joined = tuple(one[0][1] if len(one) == 1 and isinstance(one[0], tuple) else _filled(one) for one in _split(pieces))
    return value.with_object(Made("os.path.join", machine.site(frame, node), joined))


#: what an f-string is made of: text, or what is put in, each with its place in a pattern for `str.format`
Piece = str | tuple[str, Value]


def _piece(value: Value, node: ast.FormattedValue) -> Piece:
    """A constant is put in here, so that `f"{folder}/{'last.pt'}"` is `f"{folder}/last.pt"`."""
    plain = node.format_spec is None and node.conversion == -1 and value.known and len(value.atoms) == 1
    if plain and not _text_tags([value]) and len(text := str(value.constant)) <= _LONGEST:
        return text
    return "{}" if node.format_spec is None else "{!s}", value


def _filled(pieces: list[Piece]) -> Value:
    values = [piece[1] for piece in pieces if isinstance(piece, tuple)]
    if not values:
        return const("".join(map(str, pieces)))
    text = "".join(p[0] if isinstance(p, tuple) else p.replace("{", "{{").replace("}", "}}") for p in pieces)
    filled = Tag.FILLED if any(isinstance(piece, str) and piece for piece in pieces) else NO_TAGS
    return lift(f"format {text}", lambda *a: text.format(*a), values).with_tags(_text_tags(values) | filled)


def _is_path(pieces: list[Piece]) -> bool:
    """Whether there is a "/" and it is no sentence."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return any("/" in text for text in texts) and not any(" " in text for text in texts)


def _split(pieces: list[Piece]) -> list[list[Piece]]:
    """The pieces between the slashes."""
    parts: list[list[Piece]] = [[]]
    for piece in pieces:
        if isinstance(piece, tuple):
            parts[-1].append(piece)
            continue
        first, *others = piece.split("/")
        parts[-1] += [first] if first else []
        parts += [[other] if other else [] for other in others]
    absolute: list[list[Piece]] = [] if parts[0] else [["/"]]
    return absolute + [part for part in parts if part]


def _text_tags(parts: list[Value]) -> Tags:
    kept = ANY_RANK | Tag.SPAWNED | Tag.RANK_BY_NAME | OF_BATCH | Tag.EXAMPLE
    return of_all_parts(part.tags for part in parts) & kept | union(made_up(part.tags) for part in parts)


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
