"""Evaluating expressions on all simulated ranks at once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddpdoctor.lint.facts import modules
from ddpdoctor.lint.facts.events import Guard, Turn
from ddpdoctor.lint.facts.frame import Frame, choose
from ddpdoctor.lint.facts.names import attribute, lookup
from ddpdoctor.lint.facts.things import Function, Items, Listed, Made, Table
from ddpdoctor.lint.facts.trace import Alt, Exit, Loop
from ddpdoctor.lint.facts.values import (
    ORIGIN,
    Atom,
    Symbol,
    Taint,
    Value,
    asserted,
    binary,
    both,
    const,
    is_solid,
    join_tags,
    lift,
    mask_where,
    negate,
    of_thing,
    per_rank,
    truth,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

#: characters of source shown for a condition
SHOWN = 60


def text_of(node: ast.AST) -> str:
    """The source of a small expression on one line."""
    # a node is asked for its text each time that it is simulated: the node itself remembers
    known: str | None = node.__dict__.get("_text")
    if known is None:
        try:
            text = _plain_text(node) or " ".join(ast.unparse(node).split())
        except RecursionError:
            text = "..."
        known = node.__dict__["_text"] = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return known


def _plain_text(node: ast.AST) -> str:
    """What `ast.unparse` gives for names and their attributes, for a fraction of its time; "" for all else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _plain_text(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def evaluate(analysis: Analysis, frame: Frame, node: ast.expr) -> Value:
    """The value of an expression; calls in it are followed and recorded."""
    handler = _EXPRESSIONS.get(type(node))
    value = handler(analysis, frame, node) if handler is not None else unknown("expression", id(node))
    taints = frame.module.taught.taints
    return asserted(value, taints[id(node)]) if taints and id(node) in taints else value


def _constant(_analysis: Analysis, _frame: Frame, node: Any) -> Value:
    value = node.value
    if isinstance(value, (bytes, complex)) or value is Ellipsis:
        return unknown("constant", id(node))
    if isinstance(value, str) and len(value) > 200:
        return unknown("text", hash(value))
    return const(value)


def _name(analysis: Analysis, frame: Frame, node: Any) -> Value:
    return lookup(analysis, frame, node.id)


def _attribute(analysis: Analysis, frame: Frame, node: Any) -> Value:
    return attribute(analysis, frame, evaluate(analysis, frame, node.value), node.attr, node)


def _binary(analysis: Analysis, frame: Frame, node: Any) -> Value:
    left = evaluate(analysis, frame, node.left)
    right = evaluate(analysis, frame, node.right)
    value = binary(type(node.op).__name__, left, right)
    if isinstance(node.op, ast.Div) and isinstance(left.thing, Made) and left.thing.path == "pathlib.Path":
        return value._replace(thing=Made("pathlib.Path", analysis.site(frame, node), (left, right)))
    return value


def _unary(analysis: Analysis, frame: Frame, node: Any) -> Value:
    value = evaluate(analysis, frame, node.operand)
    if isinstance(node.op, ast.Not):
        return negate(value)
    if isinstance(node.op, ast.USub):
        return lift("USub", lambda a: -a, (value,))
    return lift(type(node.op).__name__, lambda a: +a, (value,)) if isinstance(node.op, ast.UAdd) else unknown(id(node))


def _compare(analysis: Analysis, frame: Frame, node: Any) -> Value:
    left = evaluate(analysis, frame, node.left)
    result: Value | None = None
    for op, operand in zip(node.ops, node.comparators, strict=True):
        right = evaluate(analysis, frame, operand)
        part = _one_comparison(type(op).__name__, left, right)
        result = part if result is None else both(result, part, conjunction=True)
        left = right
    assert result is not None
    return result


def _one_comparison(name: str, left: Value, right: Value) -> Value:
    if name in ("Is", "IsNot", "Eq", "NotEq"):
        for one, two in ((left, right), (right, left)):
            # an object that surely exists is not None
            if is_solid(one) and two.known and two.constant is None:
                return const(name in ("IsNot", "NotEq"))
            if one.thing is not None and len(one.atoms) > 1 and two.known and two.constant is None:
                present = per_rank([_exists(one, atom) for atom in one.atoms], one.tags)
                return present if name in ("IsNot", "NotEq") else negate(present)
    if name in ("In", "NotIn"):
        right = _as_constant(right)
        table = right.thing
        if (
            isinstance(table, Made)
            and table.path == "os.environ"
            and left.constant in ("RANK", "LOCAL_RANK", "WORLD_SIZE")
        ):
            return const(name == "In")
    return binary(name, left, right)


def _exists(value: Value, atom: Atom) -> Atom:
    """Whether it is not None on a rank where it is this atom."""
    if not isinstance(atom, Symbol):
        return atom is not None
    return bool(getattr(value.thing, "solid", False)) or atom


def _as_constant(value: Value) -> Value:
    """A list of constants as one constant tuple."""
    if isinstance(value.thing, Items) and all(i.known and len(i.atoms) == 1 for i in value.thing.items):
        return const(tuple(i.constant for i in value.thing.items))
    if isinstance(value.thing, Made) and value.thing.path == "builtins.range":
        bounds = value.thing.args
        if all(b.known and len(b.atoms) == 1 and isinstance(b.constant, int) for b in bounds) and 0 < len(bounds) < 4:
            try:
                return const(tuple(range(*(b.constant for b in bounds)))[:64])
            except ValueError:
                return value
    return value


def _boolean(analysis: Analysis, frame: Frame, node: Any) -> Value:
    """`and` / `or`: what stands behind runs only where what stands before lets it."""
    conjunction = isinstance(node.op, ast.And)
    result = evaluate(analysis, frame, node.values[0])
    before_mask, before_guards = frame.mask, frame.guards
    for operand in node.values[1:]:
        truths = truth(result)
        yes, no = mask_where(truths, frame.mask)
        frame.mask = yes if conjunction else no
        if not frame.mask:
            break
        out, frame.out = frame.out, []
        if not result.known or len(result.atoms) > 1:
            site = analysis.site(frame, node)
            frame.guards = (*frame.guards, Guard(truths, conjunction, result, text_of(node.values[0]), site))
        right = evaluate(analysis, frame, operand)
        inner, frame.out = tuple(frame.out), out
        if inner:
            then, other = (inner, ()) if conjunction else ((), inner)
            frame.out.append(Alt(truths, then, other, analysis.site(frame, node), text_of(node.values[0]), result.tags))
        result = _short_circuit(result, right, conjunction=conjunction)
    frame.mask, frame.guards = before_mask, before_guards
    return result


def _short_circuit(left: Value, right: Value, *, conjunction: bool) -> Value:
    if left.known and len(left.atoms) == 1:
        return right if bool(left.constant) is conjunction else left
    if not conjunction and left.thing is None and right.thing is not None:
        return right.tagged("maybe")
    return both(left, right, conjunction=conjunction)


def _conditional(analysis: Analysis, frame: Frame, node: Any) -> Value:
    test = evaluate(analysis, frame, node.test)
    truths = truth(test)
    yes, no = mask_where(truths, frame.mask)
    if not no:
        return evaluate(analysis, frame, node.body)
    if not yes:
        return evaluate(analysis, frame, node.orelse)
    before_mask, before_out, before_guards = frame.mask, frame.out, frame.guards
    sides: list[Value] = []
    traces: list[Any] = []
    for mask, side, expression in ((yes, True, node.body), (no, False, node.orelse)):
        frame.mask, frame.out = mask, []
        frame.guards = (*before_guards, Guard(truths, side, test, text_of(node.test), analysis.site(frame, node)))
        sides.append(evaluate(analysis, frame, expression))
        traces.append(tuple(frame.out))
    frame.mask, frame.out, frame.guards = before_mask, before_out, before_guards
    if traces[0] or traces[1]:
        frame.out.append(Alt(truths, traces[0], traces[1], analysis.site(frame, node), text_of(node.test), test.tags))
    if sides[0] == sides[1]:
        return sides[0]
    return choose(truths, sides[0], yes, sides[1], no, ("if", id(node)), test.tags)


def _call(analysis: Analysis, frame: Frame, node: Any) -> Value:
    from ddpdoctor.lint.facts.calls import call

    return call(analysis, frame, node)


def _sequence(analysis: Analysis, frame: Frame, node: Any) -> Value:
    items: list[Value] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            evaluate(analysis, frame, element.value)
            return unknown("sequence", id(node))
        items.append(evaluate(analysis, frame, element))
    if len(items) > 64:
        return unknown("sequence", id(node), tags=join_tags(items))
    if items and all(i.known and len(i.atoms) == 1 for i in items):
        return const(tuple(i.constant for i in items)) if isinstance(node, ast.Tuple) else _known_list(items, node)
    return _tagged(of_thing(Items(tuple(items)), "items", id(node)), items)


def _known_list(items: list[Value], node: ast.AST) -> Value:
    return of_thing(Items(tuple(items)), "items", id(node))


def _tagged(value: Value, items: list[Value]) -> Value:
    tags = join_tags(items)
    return value._replace(tags=value.tags | (tags - {"rank", "local_rank", "world"}))


def _dict(analysis: Analysis, frame: Frame, node: Any) -> Value:
    entries: dict[str, Value] = {}
    complete = True
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(analysis, frame, item)
        if key is None:
            if isinstance(value.thing, Table):
                entries.update(value.thing.entries)
                complete = complete and value.thing.complete
            else:
                complete = False
            continue
        name = evaluate(analysis, frame, key).constant
        if isinstance(name, str):
            entries[name] = value
        else:
            complete = False
    return of_thing(Table(tuple(entries.items()), complete), "dict", id(node))


def _subscript(analysis: Analysis, frame: Frame, node: Any) -> Value:
    owner = evaluate(analysis, frame, node.value)
    if isinstance(node.slice, ast.Slice):
        return _slice(analysis, frame, owner, node.slice)
    index = evaluate(analysis, frame, node.slice)
    key, thing = index.constant, owner.thing
    if isinstance(thing, Made) and thing.path == "os.environ":
        from ddpdoctor.lint.facts.names import environment

        return environment(key) or unknown("environ", str(key))
    if isinstance(thing, Items) and isinstance(key, int) and -len(thing.items) <= key < len(thing.items):
        return thing.items[key]
    if isinstance(thing, Table) and isinstance(key, str):
        found = next((v for k, v in thing.entries if k == key), None)
        if found is not None:
            return found
    if owner.known and index.known:
        return lift("Index", lambda a, i: a[i], (owner, index))
    taint = Taint.RANK_LOCAL if owner.taint is Taint.RANK_LOCAL else Taint.UNKNOWN
    return unknown("subscript", owner.atoms, index.atoms, taint=taint, tags=owner.tags & (ORIGIN | {"batch"}))


def _slice(analysis: Analysis, frame: Frame, owner: Value, node: ast.Slice) -> Value:
    bounds = [evaluate(analysis, frame, b) if b is not None else None for b in (node.lower, node.upper, node.step)]
    tags = owner.tags & (ORIGIN | {"batch", "shard"})
    taint = Taint.RANK_LOCAL if owner.taint is Taint.RANK_LOCAL else Taint.UNKNOWN
    lower, upper, step = bounds
    sharded = _shard_tags(lower, upper, step)
    if sharded:
        return unknown("shard", id(node), taint=Taint.RANK_LOCAL, tags=tags | sharded)
    return unknown("slice", owner.atoms, id(node), taint=taint, tags=tags)


def _shard_tags(lower: Value | None, upper: Value | None, step: Value | None) -> frozenset[str]:
    """How a slice by rank can come out unequal: strided by the world size, or in blocks of a rounded-up length."""
    if lower is None or "rank" not in lower.tags:
        return frozenset()
    # with an upper bound the length may have been made divisible before
    if upper is None and step is not None and "world" in step.tags:
        return frozenset({"shard"})
    if upper is not None and "ceil" in upper.tags and "rank" in upper.tags:
        return frozenset({"shard", "block"})
    return frozenset()


def _comprehension(analysis: Analysis, frame: Frame, node: Any) -> Value:
    from ddpdoctor.lint.facts.statements import assign, iterated_of

    before_env, before_out, before_loops = frame.env, frame.out, frame.loops
    frame.env, frame.out = dict(before_env), []
    for generator in node.generators:
        over = evaluate(analysis, frame, generator.iter)
        iterated, element = iterated_of(over)
        turn = Turn(node, analysis.site(frame, node), iterated, text_of(generator.target))
        frame.loops = (*frame.loops, turn)
        assign(analysis, frame, generator.target, element or unknown("element", id(generator)))
        for condition in generator.ifs:
            evaluate(analysis, frame, condition)
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    values = [evaluate(analysis, frame, part) for part in parts]
    body = tuple(frame.out)
    frame.env, frame.out, frame.loops = before_env, before_out, before_loops
    if body:
        site = analysis.site(frame, node)
        frame.out.append(Loop((Symbol(hash(("comprehension", id(node))), Taint.UNKNOWN),), body, site))
    taint = Taint.RANK_LOCAL if any(v.taint is Taint.RANK_LOCAL for v in values) else Taint.UNKNOWN
    tags = join_tags(values) & (ORIGIN | {"batch"})
    result = unknown("comprehension", id(node), taint=taint, tags=tags)
    return result._replace(thing=Listed(analysis.site(frame, node))) if isinstance(node, ast.ListComp) else result


def _lambda(_analysis: Analysis, frame: Frame, node: Any) -> Value:
    return of_thing(Function(modules.function(frame.module, node), None, frame.env), id(node))


def _inner(analysis: Analysis, frame: Frame, node: Any) -> Value:
    return evaluate(analysis, frame, node.value) if node.value is not None else const(None)


def _yield(analysis: Analysis, frame: Frame, node: Any) -> Value:
    if node.value is not None:
        evaluate(analysis, frame, node.value)
    frame.out.append(Exit("yield", analysis.site(frame, node)))
    return unknown("yield", id(node))


def _named(analysis: Analysis, frame: Frame, node: Any) -> Value:
    value = evaluate(analysis, frame, node.value)
    frame.env[node.target.id] = value
    return value


def _joined(analysis: Analysis, frame: Frame, node: Any) -> Value:
    """An f-string: equal on all ranks if its parts are."""
    parts = [evaluate(analysis, frame, v.value) for v in node.values if isinstance(v, ast.FormattedValue)]
    if not parts:
        return unknown("text", id(node))
    text = "".join(_pattern(v) for v in node.values)
    return lift(f"format {text}", lambda *a: text.format(*a), parts)._replace(tags=_text_tags(parts))


def _pattern(node: ast.expr) -> str:
    """A piece of an f-string as a piece of a pattern for `str.format`."""
    if isinstance(node, ast.Constant):
        return str(node.value).replace("{", "{{").replace("}", "}}")
    return "{}" if getattr(node, "format_spec", None) is None else "{!s}"


def _text_tags(parts: list[Value]) -> frozenset[str]:
    tags: frozenset[str] = frozenset()
    for part in parts:
        tags |= part.tags & frozenset({"rank", "local_rank", "time", "unique"})
    return tags


_EXPRESSIONS: dict[type[ast.expr], Callable[[Any, Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Call: _call,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.Await: _inner,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.NamedExpr: _named,
    ast.JoinedStr: _joined,
}
