"""Simulation of loops: what they iterate over, how often, and what one iteration passes to the next."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from typing import Any

from ddpdoctor.lint.interpreter import batches, branches, budgets, carried_over, overwrites, own_turns
from ddpdoctor.lint.interpreter.assignments import assign
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.events import EnclosingLoop, Iteration
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, Loop, Node, Trace
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.knowledge.collectives import WRAPPERS
from ddpdoctor.lint.values.abstract_objects import External, Function, Given, Instance, Items, ItemsByRank, Made
from ddpdoctor.lint.values.containers import with_functions
from ddpdoctor.lint.values.iteration import (
    count_of,
    iterated_of,
    iterator_of,
    only_element,
    unknown_element,
    zipped_with,
)
from ddpdoctor.lint.values.join import Decision, merge
from ddpdoctor.lint.values.symbols import NO_SYMBOL
from ddpdoctor.lint.values.tags import MODEL, ORIGIN, REASONS, Tag, Tags
from ddpdoctor.lint.values.truths import rank_decided, rank_local, truth
from ddpdoctor.lint.values.values import WORLD, Atom, Symbol, Taint, Value, const, per_rank, symbol, unknown
from ddpdoctor.model.record import replace
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of


def _assigned(frame: Frame, loop: ast.AST, body: list[ast.stmt]) -> tuple[set[str], bool, bool]:
    """(names that a loop's body assigns, whether it also stores attributes, whether what it carries over may decide how
    many turns it has)."""
    known = frame.module.assigned.get(loop)
    if known is None:
        nodes = [node for statement in body for node in walk(statement)]
        names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stores = any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in nodes)
        left = isinstance(loop, ast.While) or any(isinstance(n, ast.Break) for n in nodes)
        known = frame.module.assigned[loop] = (names, stores, left)
    return known


def _loop(
    machine: Machine, frame: Frame, loop: EnclosingLoop, count: tuple[Atom, ...], turn: Callable[[], None]
) -> Trace:
    """Simulate one turn of a loop, after a silent run that widens the names it carries over; returns what it does."""
    node: Any = loop.node
    before_env, before_mask, before_out = frame.env, frame.mask, frame.out
    before_loops, before_guards = frame.loops, frame.guards
    frame.loops = (*before_loops, loop)
    assigned, stores, left = _assigned(frame, node, node.body)
    carried = {**before_env, **carried_over.lengthened(before_env, node)}
    depth = len([t for t in before_loops if t.node is not None])
    for name in assigned:
        if name in carried:
            carried[name] = _begun(before_env[name], _widened(carried[name], None, name, id(node)))
    # without values passed from one iteration to the next, no silent run is needed
    if (
        depth < (budgets.TRIED_LEAVING if left else budgets.TRIED_LOOPS)
        and machine.steps < budgets.REPEATED
        and (stores or not assigned.isdisjoint(before_env))
    ):
        frame.env, frame.out, before_stores = dict(carried), [], dict(frame.stores)
        with machine.quietly():
            turn()
        carried_over.widened(machine, frame, before_stores, node)
        for name in assigned:
            if name in carried:
                carried[name] = _widened(before_env[name], frame.env.get(name), name, id(node))
    frame.env, frame.mask, frame.out, frame.guards = dict(carried), before_mask, [], before_guards
    turn()
    body = tuple(frame.out)
    run = Decision((Symbol(NO_SYMBOL, Taint.UNKNOWN),))
    after = merge(run, carried, frame.env, (before_mask, before_mask), ("loop", id(node)))
    after.update(own_turns.grown(before_env, carried, frame.env, body))
    frame.env, frame.mask, frame.out = after, before_mask, before_out
    frame.loops, frame.guards = before_loops, before_guards
    if body:
        frame.out.append(
            Loop(count, body, loop.site, _endless(node), text_of(node.iter) if isinstance(node, ast.For) else "")
        )
    machine.execute(frame, node.orelse)
    return body


def _begun(before: Value, widened: Value) -> Value:
    """A variable at the start of an iteration of which it is not known what it does: what is of this rank before the
    loop is so in the first one."""
    return widened._replace(taint=before.taint) if before.taint is Taint.RANK_LOCAL else widened


def _widened(before: Value, after: Value | None, name: str, key: int) -> Value:
    """A variable at the start of any iteration: unchanged if no iteration changes it, else a symbol with
    both taints.
    """
    if after is not None and (after == before or (after.object is not None and after.object == before.object)):
        return before
    tags = before.tags if after is None else before.tags | after.tags
    taint = Taint.UNKNOWN
    if after is not None and after.taint is Taint.RANK_LOCAL:
        taint = Taint.RANK_LOCAL
    elif after is not None and max(before.taint, after.taint) <= Taint.GIVEN:
        taint = Taint.GIVEN
    value = unknown("loop", key, name, taint=taint, tags=tags & (ORIGIN | MODEL | REASONS | Tag.MAYBE | Tag.UNEVEN))
    if after is None or len(after.atoms) == 1 or before.object is not None:
        return value
    # `if rank == 0: stop = ...` leaves it unchanged on the other ranks
    start = value.atoms[0]
    atoms = [before.at(r) if after.at(r) in (start, before.at(r)) else start for r in range(WORLD)]
    return per_rank(atoms, value.tags)


def for_loop(machine: Machine, frame: Frame, node: Any) -> None:
    over = machine.evaluate(frame, node.iter)
    machine.observe(frame, node, over)
    iterated, element = iterated_of(over)
    element = only_element(over) or element or _own_elements(machine, frame, node, iterated)
    if element is not None:
        element = batches.taken(frame, node, iterated, element)
    known = _known_objects(node, iterated) if element is None else ()
    loop = EnclosingLoop(
        node, machine.site(frame, node), iterated, text_of(node.target), bool(known), iterator_of(over)
    )
    begun: list[Iteration] = []
    if not machine.silent:
        index = len(machine.calls)
        context = machine.context(frame)
        begun = [Iteration(loop, context, index)]
        for other in zipped_with(over):
            more = replace(loop, over=iterated_of(other)[0])
            begun.append(Iteration(more, context, index))
        machine.iterations += begun
    value = element if element is not None else unknown_element(iterated, id(node))
    if element is None:
        machine.elements.add(value.atoms[0].key)
    apart = _of_some_ranks(node, iterated) if element is None else ()

    def turn() -> None:
        if over.tags & Tag.UNEVEN and over.taint is Taint.RANK_LOCAL:
            _leave_early(machine, frame, node.iter, truth(over), over.tags)
        if apart:
            _turns_of_some(machine, frame, node, apart)
        else:
            _turns(machine, frame, node, known or (value,))

    outer, frame.overwritten = frame.overwritten, {}
    body = _loop(machine, frame, loop, count_of(over), turn)
    overwrites.elements(frame, node.target, node.iter, outer)
    for iteration in begun:
        iteration.body = body


def _turns(machine: Machine, frame: Frame, node: Any, items: tuple[Value, ...]) -> None:
    """A turn for each of these; all but the last, one after the other, are treated as one."""
    for item in (*_affordable(machine, items[:-1]), items[-1]):
        assign(machine, frame, node.target, item)
        machine.execute(frame, node.body)


def _affordable(machine: Machine, items: tuple[Value, ...]) -> Iterator[Value]:
    for item in items:
        if machine.steps > budgets.REPEATED:
            return  # nested loops
        yield item


def _turns_of_some(machine: Machine, frame: Frame, node: Any, items: tuple[tuple[int, Value], ...]) -> None:
    """A turn for each of these, on the ranks that have it."""
    for mask, item in items:
        branches.on_ranks(machine, frame, node, mask, functools.partial(_turns, machine, frame, node, (item,)))


def _known_objects(node: Any, iterated: Value) -> tuple[Value, ...]:
    """The few objects of the project over which a loop iterates (callbacks, stages), if no iteration leaves it."""
    items = iterated.object.items if isinstance(iterated.object, Items) else _phases(iterated)
    if not 0 < len(items) <= budgets.OBJECTS:
        return ()
    if not (
        all(map(_is_object, items)) or with_functions(iterated) or _are_keys(node, items) or _are_peers(node, items)
    ):
        return ()
    return () if len(items) > 1 and _is_left(node) else items


def _is_left(node: Any) -> bool:
    """Whether a turn of the loop may end before its last statement."""
    left = (ast.Break, ast.Continue, ast.Return, ast.Raise)
    return any(isinstance(n, left) for s in node.body for n in walk(s))


def _of_some_ranks(node: Any, iterated: Value) -> tuple[tuple[int, Value], ...]:
    """The few elements that a loop goes through, where some ranks have more, if each needs a turn of its own."""
    items = iterated.object.items if isinstance(iterated.object, ItemsByRank) else ()
    if not 0 < len(items) <= budgets.OBJECTS or _is_left(node):
        return ()
    values = tuple(item for _, item in items)
    return items if all(map(_is_object, values)) or _are_peers(node, values) else ()


def _are_peers(node: Any, items: tuple[Value, ...]) -> bool:
    """Whether these are the ranks, alone or with what is for them, that the body sends to or receives from."""
    held = (part for item in items for part in (item.object.items if isinstance(item.object, Items) else (item,)))
    if not any(part.known and len(part.atoms) > 1 and part.tags & Tag.RANK for part in held):
        return False
    return any(isinstance(n, ast.Call) and last_name(n.func) in _TRANSFERRING for s in node.body for n in walk(s))


#: what sends to another rank, or receives from it
_TRANSFERRING = frozenset({"send", "recv", "isend", "irecv", "P2POp"})


def _phases(iterated: Value) -> tuple[Value, ...]:
    """The elements of `("train", "val")`."""
    constant = iterated.constant if iterated.known else ()
    return tuple(map(const, constant)) if isinstance(constant, tuple) and len(constant) <= budgets.OBJECTS else ()


def _are_keys(node: Any, items: tuple[Value, ...]) -> bool:
    """Whether these are names by which the body reads a dict: each iteration uses another entry."""
    if not isinstance(node.target, ast.Name) or not all(i.known and isinstance(i.constant, str) for i in items):
        return False
    return any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name) and n.slice.id == node.target.id
               for s in node.body for n in walk(s))  # fmt: skip


def _is_object(value: Value) -> bool:
    """Whether it is an object that needs an iteration of its own, alone or beside its key."""
    obj = value.object
    if isinstance(obj, Items) and len(obj.items) == 2 and obj.items[0].known:
        obj = obj.items[1].object
    made = isinstance(obj, Made) and (obj.path in WRAPPERS or obj.path == aliases.LOADER)
    return made or isinstance(obj, (Instance, Function, External))


def _own_elements(machine: Machine, frame: Frame, node: Any, iterated: Value) -> Value | None:
    """What `__iter__` of an object of the project yields; it is simulated here, before the loop."""
    obj = iterated.object
    method = find_method(machine, obj.info, "__iter__") if isinstance(obj, Instance) else None
    if method is None:
        return None
    made = machine.follow(frame, Function(method, iterated), Given((), (), machine.site(frame, node.iter)))
    return iterated_of(made)[1]


def _leave_early(machine: Machine, frame: Frame, node: ast.expr, truths: tuple[Atom, ...], tags: Tags) -> None:
    """A loop's condition on which some ranks leave before others."""
    site = machine.site(frame, node)
    leave: tuple[Node, ...] = (BlockExit("break", site),)
    frame.out.append(Branch(truths, (), leave, site, text_of(node), tags))


def while_loop(machine: Machine, frame: Frame, node: Any) -> None:
    loop = EnclosingLoop(node, machine.site(frame, node), None, "")

    def turn() -> None:
        test = machine.evaluate(frame, node.test)
        machine.observe(frame, node, test)
        truths = truth(test)
        if rank_decided(truths) or rank_local(truths):
            _leave_early(machine, frame, node.test, truths, test.tags)
        machine.execute(frame, node.body)

    _loop(machine, frame, loop, (symbol("while", id(node)),), turn)
    if _endless(node) and not any(isinstance(n, ast.Break) for n in walk(node)):
        frame.mask = 0


def _endless(node: ast.AST) -> bool:
    """Whether it is `while True`, or `while 1`."""
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
