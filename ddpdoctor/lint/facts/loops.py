"""Simulating loops: what they go through, how often, and what one turn hands on to the next."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddpdoctor.lint.facts import batches, filling, shards, spellings
from ddpdoctor.lint.facts.assignments import assign
from ddpdoctor.lint.facts.classes import find_method
from ddpdoctor.lint.facts.collective_table import WRAPPERS
from ddpdoctor.lint.facts.events import Iteration, Turn
from ddpdoctor.lint.facts.frame import Frame, merge
from ddpdoctor.lint.facts.nodes import walk
from ddpdoctor.lint.facts.residual import rank_decided, rank_local
from ddpdoctor.lint.facts.text import text_of
from ddpdoctor.lint.facts.things import External, Function, Instance, Items, Made, Method, Table
from ddpdoctor.lint.facts.trace import Alt, Exit, Loop, Node, Trace
from ddpdoctor.lint.facts.truths import truth
from ddpdoctor.lint.facts.values import (
    MODEL,
    ORIGIN,
    REASONS,
    WORLD,
    Atom,
    Symbol,
    Taint,
    Value,
    const,
    of_thing,
    per_rank,
    unknown,
)
from ddpdoctor.lint.record import replace

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

_LOOP_TRIES = 2
#: statements simulated after which no body is run more than once
ENOUGH = 6_000


def _assigned(frame: Frame, loop: ast.AST, body: list[ast.stmt]) -> tuple[set[str], bool]:
    """(names that a loop's body assigns, whether it stores attributes as well)."""
    known = frame.module.assigned.get(loop)
    if known is None:
        nodes = [node for statement in body for node in walk(statement)]
        names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stores = any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in nodes)
        known = frame.module.assigned[loop] = (names, stores)
    return known


def _loop(
    analysis: Analysis, frame: Frame, node: Any, turn: Turn, count: tuple[Atom, ...], start: Callable[[], None]
) -> Trace:
    """Simulate a loop's body once, with names that it carries on widened by a silent run before; gives what it does."""
    before_env, before_mask, before_out = frame.env, frame.mask, frame.out
    before_loops, before_guards = frame.loops, frame.guards
    frame.loops = (*before_loops, turn)
    assigned, stores = _assigned(frame, node, node.body)
    carried = dict(before_env)
    depth = len([t for t in before_loops if t.node is not None])
    for name in assigned:
        if name in carried:
            carried[name] = _widened(carried[name], None, name, id(node))
    # what no turn hands on to the next need not be tried out
    if depth < _LOOP_TRIES and analysis.steps < ENOUGH and (stores or not assigned.isdisjoint(before_env)):
        analysis.silent += 1
        frame.env, frame.out = dict(carried), []
        start()
        analysis.execute(frame, node.body)
        analysis.silent -= 1
        for name in assigned:
            if name in carried:
                carried[name] = _widened(before_env[name], frame.env.get(name), name, id(node))
    frame.env, frame.mask, frame.out, frame.guards = dict(carried), before_mask, [], before_guards
    start()
    analysis.execute(frame, node.body)
    body = tuple(frame.out)
    after = merge((Symbol(0, Taint.UNKNOWN),), carried, before_mask, frame.env, before_mask, ("loop", id(node)))
    frame.env, frame.mask, frame.out = after, before_mask, before_out
    frame.loops, frame.guards = before_loops, before_guards
    if body:
        frame.out.append(Loop(count, body, turn.site, _endless(node)))
    analysis.execute(frame, node.orelse)
    return body


def _widened(before: Value, after: Value | None, name: str, key: int) -> Value:
    """A variable at the start of any turn: itself where no turn changes it, else a symbol as tainted as both."""
    if after is not None and (after == before or (after.thing is not None and after.thing == before.thing)):
        return before
    tags = before.tags if after is None else before.tags | after.tags
    taint = Taint.UNKNOWN
    if after is not None and after.taint is Taint.RANK_LOCAL:
        taint = Taint.RANK_LOCAL
    value = unknown("loop", key, name, taint=taint, tags=tags & (ORIGIN | MODEL | REASONS | {"maybe", "uneven"}))
    if after is None or len(after.atoms) == 1 or before.thing is not None:
        return value
    # `if rank == 0: stop = ...` leaves it alone on the other ranks
    start = value.atoms[0]
    atoms = [before.at(r) if after.at(r) in (start, before.at(r)) else start for r in range(WORLD)]
    return per_rank(atoms, value.tags)


def for_loop(analysis: Analysis, frame: Frame, node: Any) -> None:
    over = analysis.evaluate(frame, node.iter)
    iterated, element = iterated_of(over)
    element = element or _own_elements(analysis, frame, node, iterated)
    if frame.no_grad and element is not None and batches.same_everywhere(iterated):
        element = batches.alike(element)
    turn = Turn(node, analysis.site(frame, node), iterated, text_of(node.target))
    begun: list[Iteration] = []
    if not analysis.silent:
        index = len(analysis.calls)
        context = analysis.context(frame)
        begun = [Iteration(turn, context, index)]
        for other in zipped_with(over):
            more = replace(turn, over=iterated_of(other)[0])
            begun.append(Iteration(more, context, index))
        analysis.iterations += begun
    value = element if element is not None else unknown("element", id(node))
    if element is None:
        analysis.elements.add(value.atoms[0].key)
    known = _known_objects(node, iterated) if element is None else ()

    def start() -> None:
        if "uneven" in over.tags and over.taint is Taint.RANK_LOCAL:
            _leave_early(analysis, frame, node.iter, truth(over), over.tags)
        # all turns but the last, one after the other, as one
        for item in known[:-1]:
            if analysis.steps > ENOUGH:
                break  # loops in loops
            assign(analysis, frame, node.target, item)
            analysis.execute(frame, node.body)
        assign(analysis, frame, node.target, known[-1] if known else value)

    body = _loop(analysis, frame, node, turn, count_of(over), start)
    for iteration in begun:
        iteration.body = body


#: objects in a list that a loop is gone through one by one
_FEW = 6


def _known_objects(node: Any, iterated: Value) -> tuple[Value, ...]:
    """The few objects of the project that a loop goes through (callbacks, stages), where no turn leaves it."""
    items = iterated.thing.items if isinstance(iterated.thing, Items) else _phases(iterated)
    if not 0 < len(items) <= _FEW or not (all(map(_is_object, items)) or _are_keys(node, items)):
        return ()
    left = (ast.Break, ast.Continue, ast.Return, ast.Raise)
    if len(items) > 1 and any(isinstance(n, left) for s in node.body for n in walk(s)):
        return ()
    return items


def _phases(iterated: Value) -> tuple[Value, ...]:
    """The elements of `("train", "val")`."""
    constant = iterated.constant if iterated.known else ()
    return tuple(map(const, constant)) if isinstance(constant, tuple) and len(constant) <= _FEW else ()


def _are_keys(node: Any, items: tuple[Value, ...]) -> bool:
    """Names, by which the body takes something out of a table: each turn goes to another entry."""
    if not isinstance(node.target, ast.Name) or not all(i.known and isinstance(i.constant, str) for i in items):
        return False
    return any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name) and n.slice.id == node.target.id
               for s in node.body for n in walk(s))  # fmt: skip


def _is_object(value: Value) -> bool:
    """An object that is worth a turn of its own, by itself or beside its key."""
    thing = value.thing
    if isinstance(thing, Items) and len(thing.items) == 2 and thing.items[0].known:
        thing = thing.items[1].thing
    made = isinstance(thing, Made) and (thing.path in WRAPPERS or thing.path == spellings.LOADER)
    return made or isinstance(thing, (Instance, Function, External))


def _own_elements(analysis: Analysis, frame: Frame, node: Any, iterated: Value) -> Value | None:
    """What the `__iter__` of an object of the project yields; it is simulated here, before the loop."""
    from ddpdoctor.lint.facts.calls import follow

    thing = iterated.thing
    method = find_method(analysis, thing.info, "__iter__") if isinstance(thing, Instance) else None
    if method is None:
        return None
    made = follow(analysis, frame, Function(method, iterated), (), (), analysis.site(frame, node.iter), None)
    return iterated_of(made)[1]


#: calls that give the elements of their first argument
_GOING_THROUGH = frozenset({
    "builtins.enumerate", "builtins.iter", "builtins.list", "builtins.tuple", "builtins.reversed", "tqdm.tqdm", "tqdm",
    "tqdm.auto.tqdm", "tqdm.trange", "tqdm.notebook.tqdm", "tqdm.rich.tqdm", "rich.progress.track", "itertools.islice",
    "torch_xla.distributed.parallel_loader.MpDeviceLoader",
})  # fmt: skip


def _is_range(value: Value) -> bool:
    return isinstance(value.thing, Made) and value.thing.path == "builtins.range"


def _starred(made: Made) -> Value | None:
    """Any element of the list in `zip(*loaders)`."""
    lists = [v for name, v in made.keywords if name == "*"]
    return filling.element_of(lists[0], "any") if len(lists) == 1 and not made.args else None


def zipped_with(over: Value) -> tuple[Value, ...]:
    """What is gone through beside the first in `zip(first, ...)`, also inside `enumerate` and the like."""
    thing = over.thing
    if isinstance(thing, Made) and thing.args:
        if thing.path == "builtins.zip":
            counted = any(_is_range(a) for a in thing.args)
            return tuple(a.tagged("cut") if counted else a for a in thing.args[1:])
        if thing.path in _GOING_THROUGH:
            return zipped_with(thing.args[0])
    return ()


def iterated_of(over: Value) -> tuple[Value, Value | None]:
    """(what a `for` really goes through, its elements where known)."""
    thing = over.thing
    if isinstance(thing, Made):
        if thing.path in _GOING_THROUGH and thing.args:
            inner, element = iterated_of(thing.args[0])
            if thing.path == "builtins.enumerate":
                element = of_thing(Items((unknown("index", thing.site), element or unknown("item", thing.site))))
            if thing.path == "itertools.islice" and len(thing.args) > 1:
                inner = inner.tagged("shard" if shards.strided(inner, thing.args[1:]) else "cut")
            return inner, element
        if thing.path == "builtins.zip" and thing.args:
            inner, element = iterated_of(thing.args[0])
            if any(_is_range(a) for a in thing.args[1:]):
                inner = inner.tagged("cut")
            return inner, element if element is None or "batch" in element.tags else None
        if thing.path == "builtins.zip":
            any_of = _starred(thing)
            return iterated_of(any_of) if any_of is not None else (over, None)
        if thing.path == spellings.LOADER:
            return over, unknown("batch", thing.site, taint=Taint.RANK_LOCAL, tags=frozenset({"batch"}))
        if thing.path == "builtins.range":
            return over, unknown("index", thing.site, tags=frozenset({"index"}))
    if isinstance(thing, Instance) and thing.base is not None and thing.base.path == spellings.LOADER:
        return over, unknown("batch", thing.base.site, taint=Taint.RANK_LOCAL, tags=frozenset({"batch"}))
    if isinstance(thing, Method) and isinstance(thing.receiver.thing, Table):
        return filling.gone_through(over, thing.receiver.thing, thing.name)
    return over, filling.element_of(over, "any") or _share_of(over)


def _share_of(over: Value) -> Value | None:
    """A batch of what a framework has made ready: it gives each rank a share."""
    if over.thing is not None or over.known or "prepared" not in over.tags:
        return None
    return unknown("batch", over.atoms, taint=Taint.RANK_LOCAL, tags=frozenset({"batch"}))


def count_of(over: Value) -> tuple[Atom, ...]:
    """How often a loop runs, as far as it can differ by rank."""
    thing = over.thing
    if isinstance(thing, Made) and thing.path == "builtins.range" and thing.args:
        bounds = thing.args
        if all(b.known for b in bounds) and any(len(b.atoms) > 1 for b in bounds):
            try:
                return tuple(len(range(*(b.at(r) for b in bounds))) for r in range(4))
            except (TypeError, ValueError, OverflowError):
                return (Symbol(hash(thing.site), Taint.UNKNOWN),)
    return (Symbol(hash(("count", over.atoms[0] if len(over.atoms) == 1 else 0)), Taint.UNKNOWN),)


def _leave_early(
    analysis: Analysis, frame: Frame, node: ast.expr, truths: tuple[Atom, ...], tags: frozenset[str]
) -> None:
    """The head of a loop that some ranks leave before others."""
    site = analysis.site(frame, node)
    leave: tuple[Node, ...] = (Exit("break", site),)
    frame.out.append(Alt(truths, (), leave, site, text_of(node), tags))


def while_loop(analysis: Analysis, frame: Frame, node: Any) -> None:
    turn = Turn(node, analysis.site(frame, node), None, "")

    def start() -> None:
        test = analysis.evaluate(frame, node.test)
        truths = truth(test)
        if rank_decided(truths) or rank_local(truths):
            _leave_early(analysis, frame, node.test, truths, test.tags)

    _loop(analysis, frame, node, turn, (Symbol(hash(("while", id(node))), Taint.UNKNOWN),), start)
    if _endless(node) and not any(isinstance(n, ast.Break) for n in walk(node)):
        frame.mask = 0


def _endless(node: ast.AST) -> bool:
    """`while True`, or `while 1`."""
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
