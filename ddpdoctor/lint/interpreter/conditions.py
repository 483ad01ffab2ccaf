"""Conditions on all simulated ranks at once: comparisons, `and` and `or`, choices between two values."""

from __future__ import annotations

import ast
from typing import Any

from ddpdoctor.lint.interpreter import budgets
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.events import Guard
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.knowledge import launchers
from ddpdoctor.lint.values.abstract_objects import (
    Class,
    EnumMember,
    Function,
    Given,
    Instance,
    Items,
    Made,
    Method,
    Table,
)
from ddpdoctor.lint.values.join import Decision, choose
from ddpdoctor.lint.values.tags import ANY_RANK, STICKY, Tag
from ddpdoctor.lint.values.truths import both, is_true, mask_where, negate, surely_true, truth
from ddpdoctor.lint.values.values import Atom, Symbol, Taint, Value, binary, const, per_rank, symbol, unknown
from ddpdoctor.program.modules import Module
from ddpdoctor.program.text import text_of


def comparison(machine: Machine, frame: Frame, node: Any) -> Value:
    left = machine.evaluate(frame, node.left)
    if len(node.ops) == 1:
        name, right = node.ops[0].__class__.__name__, machine.evaluate(frame, node.comparators[0])
        asked = _asked(machine, frame, node, left, right) if name in ("In", "NotIn") else None
        result = asked if asked is not None else compared(name, left, right)
    else:
        result = _chained(machine, frame, node, left)
    return result.tagged(Tag.MASK) if result.taint is Taint.RANK_LOCAL else result


def _asked(machine: Machine, frame: Frame, node: ast.Compare, left: Value, right: Value) -> Value | None:
    """Whether something is in an object of the project, which answers that itself, or a variable among those of the
    environment; None for anything else."""
    positive = isinstance(node.ops[0], ast.In)
    if _is_environment(right) and _is_set_for(frame.module, left.constant):
        return const(positive)
    method = find_method(machine, right.object.info, "__contains__") if isinstance(right.object, Instance) else None
    if method is None:
        return None
    answer = machine.follow(frame, Function(method, right), Given((left,), (), machine.site(frame, node)))
    return answer if positive else negate(answer)


def _chained(machine: Machine, frame: Frame, node: ast.Compare, left: Value) -> Value:
    """`0 <= rank < size`: every comparison in it."""
    result: Value | None = None
    for op, operand in zip(node.ops, node.comparators, strict=True):
        right = machine.evaluate(frame, operand)
        part = compared(type(op).__name__, left, right)
        result = part if result is None else both(result, part, conjunction=True)
        left = right
    assert result is not None
    return result


def compared(name: str, left: Value, right: Value) -> Value:
    """One comparison, by the name of its operator's class in `ast`."""
    known: Value | bool | None
    if name in ("In", "NotIn"):
        right = as_constant(right)
        known = _contained(left, right)
    else:
        known = _compared(name, left, right)
    if known is not None:
        return const(known is (name in _AFFIRMING)) if isinstance(known, bool) else known
    result = binary(name, left, right)
    return _alike(result) if result.taint is Taint.RANK_LOCAL and _about_kind(name, left, right) else result


_AFFIRMING = frozenset({"Is", "Eq", "In"})


def _is_environment(value: Value) -> bool:
    return isinstance(value.object, Made) and value.object.path == "os.environ"


#: torchrun's variables as they are written
_OF_TORCHRUN = tuple(f"{quote}{name}{quote}" for name in sorted(launchers.SET) for quote in ("'", '"'))


def _is_set_for(module: Module, name: object) -> bool:
    """Whether a launcher that starts a file sets a variable: one that is not torchrun if the file asks for none of
    torchrun's."""
    row = launchers.VARIABLES.get(name) if isinstance(name, str) else None
    return row is not None and (name in launchers.SET or not any(other in module.text for other in _OF_TORCHRUN))


def _contained(left: Value, right: Value) -> bool | None:
    """Whether a key is in a dict, as far as it is known what is in there."""
    table = right.object
    if _is_environment(right) and left.constant in launchers.SET:
        return True
    if isinstance(table, Table) and isinstance(left.constant, str) and not right.tags & Tag.MAYBE:
        if any(key == left.constant for key, _ in table.entries):
            return True
        if table.complete and table.rest is None:
            return False
    return None


def _compared(name: str, left: Value, right: Value) -> Value | bool | None:
    """Whether two values are equal, or the comparison itself rank by rank; None if nothing special is known."""
    if name not in ("Is", "IsNot", "Eq", "NotEq"):
        return None
    if isinstance(left.object, EnumMember) and isinstance(right.object, EnumMember):
        return left.object == right.object
    if (alone := _no_rank(left, right)) is not None:
        return alone if name in ("Is", "Eq") else negate(alone)
    for one, two in ((left, right), (right, left)):
        # a function is no text
        if isinstance(one.object, (Function, Class)) and isinstance(two.constant, str):
            return False
        if two.known and two.constant is None:
            known = _missing(name, one)
            if known is not None:
                return known
    return None


def _no_rank(one: Value, two: Value) -> Value | None:
    """Whether a rank that is not known is -1 or the like, as no rank is: then there is no job, for all alike."""
    if isinstance(one.constant, int) and one.constant < 0:
        one, two = two, one
    if not one.tags & ANY_RANK or not isinstance(two.constant, int) or two.constant >= 0:
        return None
    return unknown("no rank", one.atoms, two.constant) if all(isinstance(a, Symbol) for a in one.atoms) else None


def _missing(name: str, one: Value) -> Value | bool | None:
    """The comparison of a value with None."""
    # an object that certainly exists is not None
    if surely_true(one) or one.tags & Tag.GIVEN:
        return False
    if one.object is not None and len(one.atoms) > 1:
        present = per_rank([_exists(one, atom) for atom in one.atoms], one.tags)
    elif one.taint is Taint.RANK_LOCAL:
        present = _there(one)
    else:
        return None
    return present if name in ("IsNot", "NotEq") else negate(present)


def _about_kind(name: str, left: Value, right: Value) -> bool:
    """Whether data has a part of this name, or exists at all: equal for the batches of all ranks."""
    if (left.tags | right.tags) & (Tag.LOCAL_CHOICE | Tag.UNEVEN):
        return False
    if left.tags & Tag.ELEMENT and _are_names(right):
        return True
    if name in ("In", "NotIn"):
        return isinstance(left.constant, str)
    # a whole batch may be missing on one rank; its parts are determined by the data set
    pairs = ((left, right), (right, left))
    return name in ("Is", "IsNot") and any(v.known and isinstance(w.object, Method) for v, w in pairs)


def _are_names(value: Value) -> bool:
    """Whether the elements of a batch that is a dict, which are its names, may be compared with it."""
    if not value.known:
        return value.taint is not Taint.RANK_LOCAL
    texts = value.elements or (value.constant,)
    return any(isinstance(text, str) for text in texts)


def _alike(value: Value) -> Value:
    atoms = tuple(a._replace(taint=Taint.UNKNOWN) if isinstance(a, Symbol) else a for a in value.atoms)
    return value._replace(atoms=atoms, taint=Taint.UNKNOWN)


def _there(data: Value) -> Value:
    """Whether this rank has any data: its content differs between ranks, its existence seldom does."""
    chosen = bool(data.tags & Tag.LOCAL_CHOICE)
    if not (chosen or data.tags & Tag.ELEMENT) and data.tags & (Tag.PART | Tag.OPTIONAL):
        # the data set determines the parts of a batch, and the configuration what is computed, for all ranks alike
        return unknown("there", data.atoms)
    there = symbol("there", data.atoms, taint=Taint.RANK_LOCAL)
    kept = chosen or data.tags & Tag.ELEMENT
    return Value((there,), Taint.RANK_LOCAL, None, data.tags & (STICKY if kept else Tag.DECLARED))


def _exists(value: Value, atom: Atom) -> Atom:
    """Whether it is not None on a rank with this atom."""
    if not isinstance(atom, Symbol):
        return atom is not None
    return is_true(value.object) or atom


def as_constant(value: Value) -> Value:
    """A list of constants as one constant tuple."""
    if isinstance(value.object, Items) and all(i.known and len(i.atoms) == 1 for i in value.object.items):
        return const(tuple(i.constant for i in value.object.items))
    if isinstance(value.object, Made) and value.object.path == "builtins.range":
        bounds = value.object.args
        if all(b.known and len(b.atoms) == 1 and isinstance(b.constant, int) for b in bounds) and 0 < len(bounds) < 4:
            try:
                numbers = range(*(b.constant for b in bounds))
            except ValueError:
                return value
            # half of `range(128)` would wrongly exclude 100, and `range(10**15)` is too large for a tuple
            return value if numbers[budgets.ELEMENTS :] else const(tuple(numbers))
    return value


def boolean(machine: Machine, frame: Frame, node: Any) -> Value:
    """`and` / `or`: the right side runs only on ranks whose left side lets it."""
    conjunction = isinstance(node.op, ast.And)
    result = machine.evaluate(frame, node.values[0])
    before_mask, before_guards = frame.mask, frame.guards
    for operand in node.values[1:]:
        machine.observe(frame, node, result)
        truths = truth(result)
        yes, no = mask_where(truths, frame.mask)
        frame.mask = yes if conjunction else no
        if not frame.mask:
            break
        out, frame.out = frame.out, []
        if not result.known or len(result.atoms) > 1:
            site = machine.site(frame, node)
            frame.guards = (*frame.guards, Guard(truths, conjunction, result, text_of(node.values[0]), site))
        right = machine.evaluate(frame, operand)
        inner, frame.out = tuple(frame.out), out
        if inner:
            then, other = (inner, ()) if conjunction else ((), inner)
            frame.out.append(
                Branch(truths, then, other, machine.site(frame, node), text_of(node.values[0]), result.tags)
            )
        result = _short_circuit(result, right, conjunction=conjunction)
    frame.mask, frame.guards = before_mask, before_guards
    return result


def _short_circuit(left: Value, right: Value, *, conjunction: bool) -> Value:
    if left.known and len(left.atoms) == 1:
        return right if bool(left.constant) is conjunction else left
    if not conjunction and left.object is None and right.object is not None:
        return right.tagged(Tag.MAYBE)
    return both(left, right, conjunction=conjunction)


def conditional(machine: Machine, frame: Frame, node: Any) -> Value:
    test = machine.evaluate(frame, node.test)
    machine.observe(frame, node, test)
    truths = truth(test)
    yes, no = mask_where(truths, frame.mask)
    if not no:
        return machine.evaluate(frame, node.body)
    if not yes:
        return machine.evaluate(frame, node.orelse)
    before_mask, before_out, before_guards = frame.mask, frame.out, frame.guards
    sides: list[Value] = []
    traces: list[Any] = []
    for mask, side, expression in ((yes, True, node.body), (no, False, node.orelse)):
        frame.mask, frame.out = mask, []
        frame.guards = (*before_guards, Guard(truths, side, test, text_of(node.test), machine.site(frame, node)))
        sides.append(machine.evaluate(frame, expression))
        traces.append(tuple(frame.out))
    frame.mask, frame.out, frame.guards = before_mask, before_out, before_guards
    if traces[0] or traces[1]:
        frame.out.append(Branch(truths, traces[0], traces[1], machine.site(frame, node), text_of(node.test), test.tags))
    if sides[0] == sides[1]:
        return sides[0]
    return choose(Decision(truths, test.tags), sides[0], sides[1], (yes, no), ("if", id(node)))
