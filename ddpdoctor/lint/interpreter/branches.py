"""Simulation of branches: each side on the ranks that can take it, and the join after both."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ddpdoctor.lint.interpreter import patterns
from ddpdoctor.lint.interpreter.asked_again import only_side
from ddpdoctor.lint.interpreter.events import BranchEvent, Guard
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, Node, leaving_through
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values.join import Decision, merge, merge_stores
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.truths import mask_where, truth
from ddpdoctor.lint.values.values import WORLD, Atom, Symbol, Taint, Value, const, per_rank, symbol, unknown
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: values by (symbol of the owner, attribute)
_Stores = dict[tuple[int, str], Value]


class _Condition(NamedTuple):
    value: Value
    #: the statement that has it
    node: ast.AST
    text: str


def _branch(
    machine: Machine, frame: Frame, condition: _Condition, then: Callable[[], None], other: Callable[[], None]
) -> None:
    """Run both sides, each on the ranks that can take it, and join the variables."""
    test, node, text = condition
    truths = _held(frame, truth(test))
    yes, no = mask_where(truths, frame.mask)
    site = machine.site(frame, node)
    before_env, before_out, before_guards = frame.env, frame.out, frame.guards
    before_stores, stored = frame.stores, []
    if not no or not yes:
        # a condition on the rank is recorded even if it holds on all remaining ranks
        if len(truths) > 1:
            frame.guards = (*before_guards, Guard(truths, bool(yes), test, text, site))
        (then if yes else other)()
        if frame.alive:
            frame.guards = before_guards
        return
    sides: list[tuple[dict[str, Value], int, tuple[Node, ...]]] = []
    for side, mask, action in ((True, yes, then), (False, no, other)):
        guard = Guard(truths, side, test, text, site)
        frame.env, frame.out, frame.mask = dict(before_env), [], mask
        frame.guards, frame.stores = (*before_guards, guard), dict(before_stores)
        if side and not machine.silent:
            machine.branches.append(BranchEvent(guard, node, machine.context(frame)))
        action()
        sides.append((frame.env, frame.mask, tuple(frame.out)))
        stored.append(frame.stores)
    (env, mask, out), (other_env, other_mask, other_out) = sides
    by, masks = Decision(truths, test.tags), (mask, other_mask)
    frame.env = merge(by, env, other_env, masks, (site.line, site.column))
    joined = merge_stores(by, stored[0], stored[1], masks)
    if joined is not stored[0] and mask and other_mask:
        _join_heap(machine, stored, joined)
    before_stores.update(joined)
    frame.stores = before_stores
    frame.mask, frame.out, frame.guards = mask | other_mask, before_out, before_guards
    if out or other_out:
        frame.out.append(Branch(truths, out, other_out, site, text, test.tags))
    # the code after `if rank != 0: return` is under that condition as an else branch would be
    if not mask or not other_mask:
        frame.guards = (*before_guards, Guard(truths, bool(mask), test, text, site))


def _join_heap(machine: Machine, stored: list[_Stores], joined: _Stores) -> None:
    """Attributes that the sides have stored: the side that ran last has not replaced what the first one left, and what
    one side alone has stored is not there after the other: `if args.debug: args.evaluate = False`."""
    then, other = stored
    for key, value in joined.items():
        if then.get(key) is not other.get(key):
            machine.heap[key] = value


def on_ranks(machine: Machine, frame: Frame, node: ast.For, mask: int, action: Callable[[], None]) -> None:
    """Run an action on some ranks alone: those that have an element of what a loop goes through."""
    test = per_rank([bool(mask >> rank & 1) for rank in range(WORLD)], Tag.RANK)
    _branch(
        machine, frame, _Condition(test, node, f"{text_of(node.target)} in {text_of(node.iter)}"), action, lambda: None
    )


def hold(frame: Frame, test: Value) -> None:
    """An assertion: what was unknown is true from here on, where the assertion is surely passed."""
    left = [(atom, True) for atom in truth(test) if isinstance(atom, Symbol)] if len(test.atoms) == 1 else []
    while left:
        atom, holds = left.pop()
        holds = holds is not atom.negated
        frame.env[_asserted(atom)] = const(holds)
        if atom.parts is not None and holds is (atom.parts[0] == "and"):
            left += [(part, holds) for part in atom.parts[1:] if isinstance(part, Symbol)]


def _held(frame: Frame, truths: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """What an assertion before it says of a condition."""
    atom = truths[0]
    if len(truths) > 1 or not isinstance(atom, Symbol):
        return truths
    known = frame.env.get(_asserted(atom))
    if known is None or known.tags & Tag.MAYBE or not isinstance(known.constant, bool):
        return truths
    return (known.constant is not atom.negated,)


def _asserted(atom: Symbol) -> str:
    """The variable, which no program can have, that holds what is asserted of an unknown."""
    return f"assert {atom.key}"


def if_statement(machine: Machine, frame: Frame, node: Any) -> None:
    before = frame.guards
    test = machine.evaluate(frame, node.test)
    machine.observe(frame, node, test)
    if len(test.atoms) == 1 and test.known and _first_time(machine, frame, node):
        test = const(not test.constant)
    # whatever chose among a few constants, all of these may lead to one side
    if len(test.atoms) == 1 and not test.known:
        side_taken = only_side(frame.function.node if frame.function is not None else frame.module.tree, node)
        test = test if side_taken is None else const(side_taken)
    # a role that the rank decides is no value that nobody gives
    alike = len(test.atoms) == 1 and test.taint <= Taint.UNKNOWN
    refuse = _refusing(node) if alike else None

    before_heap = dict(machine.heap) if node.orelse and _sets_attributes(node) else None

    def side(body: list[ast.stmt]) -> None:
        if body is refuse:
            _refuse(machine, frame, body)
        else:
            machine.execute(frame, body)

    def other() -> None:
        left = machine.heap
        if before_heap is not None:
            machine.heap = dict(before_heap)
        side(node.orelse)
        if before_heap is not None:
            stored = {key: value for key, value in machine.heap.items() if before_heap.get(key) is not value}
            machine.heap = {**left, **stored}

    _branch(machine, frame, _Condition(test, node, text_of(node.test)), lambda: side(node.body), other)
    if frame.guards is not before and len(frame.guards) > 24:
        frame.guards = before


def _sets_attributes(node: ast.If) -> bool:
    """Whether the first side stores attributes, which the other does not see."""
    known: bool | None = node.__dict__.get("_sets_attributes")
    if known is None:
        targets = (part for statement in node.body for part in walk(statement) if isinstance(part, ast.Attribute))
        known = node.__dict__["_sets_attributes"] = any(isinstance(target.ctx, ast.Store) for target in targets)
    return known


def _refusing(node: ast.If) -> list[ast.stmt] | None:
    """The side that ends the function because something has none of the values that the other is for: `if data == "a":
    ... elif data == "b": ... else: return "a or b"`, `if data not in ("a", "b"): return`."""
    known: list[list[ast.stmt]] | None = node.__dict__.get("_refusing")
    if known is None:
        side, other = (node.orelse, node.body) if (chosen := _is_choice(node.test)) else (node.body, node.orelse)
        last = side[-1] if side else None
        plain = isinstance(last, ast.Return) and (last.value is None or isinstance(last.value, ast.Constant))
        plain = plain or (isinstance(last, ast.Expr) and _ends(last.value))
        said = all(isinstance(statement, ast.Expr) for statement in side[:-1])
        goes_on = not other or not isinstance(other[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
        refuses = plain and said and goes_on and (chosen or _is_choice(_denied(node.test)))
        known = node.__dict__["_refusing"] = [side] if refuses else []
    return known[0] if known else None


def _ends(value: ast.expr) -> bool:
    """Whether it is a call that ends the process."""
    return isinstance(value, ast.Call) and last_name(value.func) in ("exit", "_exit", "quit")


def _denied(test: ast.expr) -> ast.expr:
    """The opposite of a condition, where it is written as one."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    opposite = _OPPOSITE.get(type(test.ops[0])) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    if not isinstance(test, ast.Compare) or opposite is None:
        return ast.Constant(None)
    return ast.Compare(test.left, [opposite()], test.comparators)


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.NotIn: ast.In}


def _is_choice(test: ast.expr) -> bool:
    """Whether something is a text, or one of several."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    given = test.comparators[0]
    texts = given.elts if isinstance(given, (ast.List, ast.Tuple, ast.Set)) else [given]
    return isinstance(test.ops[0], (ast.Eq, ast.In)) and all(
        isinstance(text, ast.Constant) and isinstance(text.value, str) for text in texts
    )


def _refuse(machine: Machine, frame: Frame, body: list[ast.stmt]) -> None:
    """Simulate statements that end a function as an error does: nobody starts a job to come here."""
    machine.execute(frame, body[:-1])
    if frame.alive:
        frame.out.append(BlockExit("raise", machine.site(frame, body[-1])))
        frame.mask = 0


_GROUP = "init_process_group"
_THERE = "is_initialized"


def _first_time(machine: Machine, frame: Frame, node: ast.If) -> bool:
    """Whether the branch makes the process group if there is none: it is simulated as the first time it is reached.

    Everywhere else there is a group, and here, too, if the program has made one before on one of the ranks that come
    here: what only others have made, on the other side of a branch on the rank, is none for these.
    """
    if _THERE not in frame.module.words or _GROUP not in frame.module.words:
        return False
    known: bool | None = node.__dict__.get("_makes_group")
    if known is None:
        known = node.__dict__["_makes_group"] = _makes_group(frame, node)
    root = frame.calls[:1]
    return known and not any(
        call.path in vocabulary.GROUP_CALLS and call.context.calls[:1] == root and call.context.mask & frame.mask
        for call in machine.calls
    )


def _makes_group(frame: Frame, node: ast.If) -> bool:
    """`if not is_initialized(): init_process_group()`, or `if is_initialized(): return` before it."""
    test = _once(node.test)
    if _THERE not in text_of(test):
        return False
    if _denies(test):
        return _calls_it(node.body)
    leaves = isinstance(node.body[-1], (ast.Return, ast.Raise))
    function = frame.function.node if frame.function is not None else None
    later = [s for s in getattr(function, "body", ()) if s.lineno > (node.end_lineno or 0)]
    return _calls_it(node.orelse) or (leaves and _calls_it(later))


def _once(test: ast.expr) -> ast.expr:
    """The test without a double `not`."""
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
    twice = isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not)
    return _once(inner.operand) if isinstance(inner, ast.UnaryOp) and twice else test


def _denies(test: ast.expr) -> bool:
    """Whether the test contains `not is_initialized()`."""
    return any(
        isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) and _THERE in text_of(part.operand)
        for part in walk(test)
    )


def _calls_it(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(part, ast.Call) and last_name(part.func) == _GROUP for statement in body for part in walk(statement)
    )


def match_statement(machine: Machine, frame: Frame, node: Any) -> None:
    subject = machine.evaluate(frame, node.subject)
    machine.observe(frame, node, subject)
    _cases(machine, frame, subject, node.cases, 0)


def _cases(machine: Machine, frame: Frame, subject: Value, cases: list[Any], index: int) -> None:
    if index >= len(cases):
        return
    case = cases[index]
    test = patterns.chosen(machine, frame, subject, case)
    machine.observe(frame, case.pattern, test)
    _branch(
        machine, frame, _Condition(test, case.body[0], "case"),
        lambda: machine.execute(frame, case.body), lambda: _cases(machine, frame, subject, cases, index + 1),
    )  # fmt: skip


def try_statement(machine: Machine, frame: Frame, node: Any) -> None:
    before_handler, before_out = frame.handler, frame.out
    start_env, start_mask = dict(frame.env), frame.mask
    frame.handler, frame.out = "try", []
    machine.execute(frame, node.body)
    if frame.alive:
        machine.execute(frame, node.orelse)
    env, mask, guards = frame.env, frame.mask, frame.guards
    for handler in node.handlers:
        env, mask = _handler(machine, frame, handler, (start_env, start_mask), (env, mask))
    frame.env, frame.mask, frame.guards = env, mask, guards
    inner, frame.out = tuple(frame.out), []
    if node.finalbody:
        alive = frame.mask
        frame.mask = start_mask
        frame.handler = "finally"
        machine.execute(frame, node.finalbody)
        frame.mask &= alive
    last = tuple(frame.out)
    frame.out = [*before_out, *leaving_through(inner, last), *last]
    frame.handler = before_handler


def _with_packages(frame: Frame, ended: dict[str, Value]) -> dict[str, Value]:
    """The variables behind `except ImportError: wandb = None`: where anything is done with it, it is the package."""
    lost = {
        name for name in frame.module.imports.keys() & frame.env.keys()
        if (value := frame.env[name]) is not ended.get(name) and value.known and value.constant is None
    }  # fmt: skip
    return {name: value for name, value in frame.env.items() if name not in lost} if lost else frame.env


def _handler(
    machine: Machine, frame: Frame, handler: ast.ExceptHandler,
    start: tuple[dict[str, Value], int], ended: tuple[dict[str, Value], int],
) -> tuple[dict[str, Value], int]:  # fmt: skip
    """Simulate an `except` block; its collectives are an alternative that is never assumed to be taken."""
    before_out = frame.out
    frame.env, frame.mask, frame.out = {**ended[0], **start[0]}, start[1], []
    if handler.name:
        frame.env[handler.name] = unknown("exception", id(handler))
    frame.handler = "except"
    machine.execute(frame, handler.body)
    out, env, mask = tuple(frame.out), _with_packages(frame, ended[0]), frame.mask
    frame.out = before_out
    raised = symbol("except", id(handler))
    if out:
        site = machine.site(frame, handler)
        frame.out.append(Branch((raised,), out, (), site, "except", Tag.EXCEPTION))
    merged = merge(Decision((raised,)), env, ended[0], (mask, ended[1]), ("handler", id(handler)))
    return merged, mask | ended[1]
