"""Simulating statements: which ranks go where, what they call, what names hold afterwards."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddpdoctor.lint.facts import batches, frameworks, modules, vocabulary
from ddpdoctor.lint.facts.events import Branch, Guard, Iteration, Turn
from ddpdoctor.lint.facts.expressions import evaluate, text_of
from ddpdoctor.lint.facts.frame import Frame, decided_by, merge
from ddpdoctor.lint.facts.nodes import walk
from ddpdoctor.lint.facts.residual import rank_decided, rank_local
from ddpdoctor.lint.facts.things import Class, Function, Instance, Items, Made
from ddpdoctor.lint.facts.trace import Alt, Exit, Loop, Node, Op
from ddpdoctor.lint.facts.values import (
    EVERY_RANK,
    MODEL,
    NO_TAGS,
    ORIGIN,
    REASONS,
    WORLD,
    Atom,
    Symbol,
    Taint,
    Value,
    asserted,
    binary,
    mask_where,
    of_thing,
    per_rank,
    truth,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

__all__ = ["apply_decorators", "assign", "evaluate", "run"]

_LOOP_TRIES = 2


def run(analysis: Analysis, frame: Frame, body: list[ast.stmt]) -> None:
    """Simulate statements until the end or until no rank goes on."""
    for statement in body:
        if not frame.alive:
            return
        analysis.steps += 1
        handler = _STATEMENTS.get(type(statement))
        if handler is not None:
            handler(analysis, frame, statement)


def apply_decorators(analysis: Analysis, frame: Frame, info: modules.FunctionInfo) -> None:
    """What decorators say of the body: only rank 0 runs it, or no gradients are kept in it."""
    for decorator in info.decorators:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name in ("no_grad", "inference_mode"):
            frame.no_grad = True
        elif isinstance(decorator, ast.Call) and (decorator.args or any(k.arg == "rank" for k in decorator.keywords)):
            continue  # another rank, perhaps
        elif name in vocabulary.FIRST_RANK_DECORATORS and not _is_local(analysis, frame, target):
            site = analysis.site(frame, decorator)
            truths = (True, False, False, False)
            leave: tuple[Node, ...] = (Exit("return", site),)
            frame.out.append(Alt(truths, (), leave, site, f"@{name}", NO_TAGS))
            frame.mask &= 1


def _is_local(analysis: Analysis, frame: Frame, target: ast.expr) -> bool:
    """A decorator of the project's own may do more than its name says, switch barriers off for example."""
    return isinstance(evaluate(analysis, Frame(frame.module), target).thing, Function)


def _branch(
    analysis: Analysis, frame: Frame, test: Value, node: ast.AST, text: str, then: Callable[[], None],
    other: Callable[[], None],
) -> None:  # fmt: skip
    """Run both sides, each on the ranks that can take it, and bring variables back together."""
    truths = truth(test)
    yes, no = mask_where(truths, frame.mask)
    site = analysis.site(frame, node)
    before_env, before_out, before_guards = frame.env, frame.out, frame.guards
    if not no or not yes:
        # a condition on the rank that holds on all ranks that are left is a condition still
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
        frame.guards = (*before_guards, guard)
        if side and not analysis.silent:
            analysis.branches.append(Branch(guard, node, analysis.context(frame)))
        action()
        sides.append((frame.env, frame.mask, tuple(frame.out)))
    (env, mask, out), (other_env, other_mask, other_out) = sides
    frame.env = merge(truths, env, mask, other_env, other_mask, (site.line, site.column), test.tags)
    frame.mask, frame.out, frame.guards = mask | other_mask, before_out, before_guards
    if out or other_out:
        frame.out.append(Alt(truths, out, other_out, site, text, test.tags))
    # what follows `if rank != 0: return` is under that condition as much as an else branch is
    if not mask or not other_mask:
        frame.guards = (*before_guards, Guard(truths, bool(mask), test, text, site))


def _if(analysis: Analysis, frame: Frame, node: Any) -> None:
    before = frame.guards
    test = evaluate(analysis, frame, node.test)
    _branch(
        analysis, frame, test, node, text_of(node.test),
        lambda: run(analysis, frame, node.body), lambda: run(analysis, frame, node.orelse),
    )  # fmt: skip
    if frame.guards is not before and len(frame.guards) > 24:
        frame.guards = before


def _match(analysis: Analysis, frame: Frame, node: Any) -> None:
    subject = evaluate(analysis, frame, node.subject)
    _cases(analysis, frame, subject, node.cases, 0)


def _cases(analysis: Analysis, frame: Frame, subject: Value, cases: list[Any], index: int) -> None:
    if index >= len(cases):
        return
    case = cases[index]
    test = unknown("case", id(case))
    if isinstance(case.pattern, ast.MatchValue):
        test = binary("Eq", subject, evaluate(analysis, frame, case.pattern.value))
    elif isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None:
        test = Value((True,), Taint.UNIFORM)
    _branch(
        analysis, frame, test, case.body[0], "case",
        lambda: run(analysis, frame, case.body), lambda: _cases(analysis, frame, subject, cases, index + 1),
    )  # fmt: skip


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
) -> None:
    """Simulate a loop's body once, with names that it carries on widened by a silent run before."""
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
    if depth < _LOOP_TRIES and analysis.steps < 6_000 and (stores or not assigned.isdisjoint(before_env)):
        analysis.silent += 1
        frame.env, frame.out = dict(carried), []
        start()
        run(analysis, frame, node.body)
        analysis.silent -= 1
        for name in assigned:
            if name in carried:
                carried[name] = _widened(before_env[name], frame.env.get(name), name, id(node))
    frame.env, frame.mask, frame.out, frame.guards = dict(carried), before_mask, [], before_guards
    start()
    run(analysis, frame, node.body)
    body = tuple(frame.out)
    after = merge((Symbol(0, Taint.UNKNOWN),), carried, before_mask, frame.env, before_mask, ("loop", id(node)))
    frame.env, frame.mask, frame.out = after, before_mask, before_out
    frame.loops, frame.guards = before_loops, before_guards
    if body:
        frame.out.append(Loop(count, body, turn.site))
    run(analysis, frame, node.orelse)


def _widened(before: Value, after: Value | None, name: str, key: int) -> Value:
    """A variable at the start of any turn: itself where no turn changes it, else a symbol as tainted as both."""
    if after is not None and (after == before or (after.thing is not None and after.thing == before.thing)):
        return before
    tags = before.tags if after is None else before.tags | after.tags
    taint = Taint.UNKNOWN
    if after is not None and after.taint is Taint.RANK_LOCAL:
        taint = Taint.RANK_LOCAL
    value = unknown("loop", key, name, taint=taint, tags=tags & (ORIGIN | MODEL | REASONS | {"maybe"}))
    if after is None or len(after.atoms) == 1 or before.thing is not None:
        return value
    # `if rank == 0: stop = ...` leaves it alone on the other ranks
    start = value.atoms[0]
    atoms = [before.at(r) if after.at(r) in (start, before.at(r)) else start for r in range(WORLD)]
    return per_rank(atoms, value.tags)


def _for(analysis: Analysis, frame: Frame, node: Any) -> None:
    over = evaluate(analysis, frame, node.iter)
    iterated, element = iterated_of(over)
    if frame.no_grad and element is not None and batches.same_everywhere(iterated):
        element = batches.alike(element)
    turn = Turn(node, analysis.site(frame, node), iterated, text_of(node.target))
    if not analysis.silent:
        index = len(analysis.calls)
        analysis.iterations.append(Iteration(turn, analysis.context(frame), index))
    value = element if element is not None else unknown("element", id(node))
    _loop(analysis, frame, node, turn, count_of(over), lambda: assign(analysis, frame, node.target, value))


def iterated_of(over: Value) -> tuple[Value, Value | None]:
    """(what a `for` really goes through, its elements where known)."""
    thing = over.thing
    if isinstance(thing, Made):
        if thing.path in ("builtins.enumerate", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.trange", "builtins.iter", "tqdm",
                          "tqdm.notebook.tqdm", "rich.progress.track", "itertools.islice",
                          "torch_xla.distributed.parallel_loader.MpDeviceLoader") and thing.args:  # fmt: skip
            inner, element = iterated_of(thing.args[0])
            if thing.path == "builtins.enumerate":
                element = of_thing(Items((unknown("index", thing.site), element or unknown("item", thing.site))))
            return inner, element
        if thing.path == "builtins.zip" and thing.args:
            inner, element = iterated_of(thing.args[0])
            return inner, element if element is None or "batch" in element.tags else None
        if thing.path == vocabulary.LOADER:
            return over, unknown("batch", thing.site, taint=Taint.RANK_LOCAL, tags=frozenset({"batch"}))
        if thing.path == "builtins.range":
            return over, unknown("index", thing.site, tags=frozenset({"index"}))
    if isinstance(thing, Items):
        return over, None
    return over, None


def count_of(over: Value) -> tuple[Atom, ...]:
    """How often a loop runs, as far as it can differ by rank."""
    thing = over.thing
    if isinstance(thing, Made) and thing.path == "builtins.range" and thing.args:
        bounds = thing.args
        if all(b.known for b in bounds) and any(len(b.atoms) > 1 for b in bounds):
            try:
                return tuple(len(range(*(b.at(r) for b in bounds))) for r in range(4))
            except (TypeError, ValueError):
                return (Symbol(hash(thing.site), Taint.UNKNOWN),)
    return (Symbol(hash(("count", over.atoms[0] if len(over.atoms) == 1 else 0)), Taint.UNKNOWN),)


def _while(analysis: Analysis, frame: Frame, node: Any) -> None:
    turn = Turn(node, analysis.site(frame, node), None, "")

    def start() -> None:
        test = evaluate(analysis, frame, node.test)
        truths = truth(test)
        if rank_decided(truths) or rank_local(truths):
            site = analysis.site(frame, node.test)
            leave: tuple[Node, ...] = (Exit("break", site),)
            frame.out.append(Alt(truths, (), leave, site, text_of(node.test), test.tags))

    _loop(analysis, frame, node, turn, (Symbol(hash(("while", id(node))), Taint.UNKNOWN),), start)
    always = isinstance(node.test, ast.Constant) and bool(node.test.value)
    if always and not any(isinstance(n, ast.Break) for n in walk(node)):
        frame.mask = 0


def _leave(kind: str) -> Callable[[Analysis, Frame, Any], None]:
    def handler(analysis: Analysis, frame: Frame, node: Any) -> None:
        frame.out.append(Exit(kind, analysis.site(frame, node)))
        frame.mask = 0

    return handler


def _return(analysis: Analysis, frame: Frame, node: Any) -> None:
    value = evaluate(analysis, frame, node.value) if node.value is not None else Value((None,), Taint.UNIFORM)
    frame.returns.append((frame.mask, value))
    apart = decided_by(frame, node)
    if apart is not None:
        frame.apart = apart | (frame.apart or NO_TAGS)
    if frameworks.steps_by_itself(analysis, frame.function) and not (value.known and value.constant is None):
        frame.out.append(Op("backward (Lightning)", None, analysis.site(frame, node)))
    frame.out.append(Exit("return", analysis.site(frame, node)))
    frame.mask = 0


def _raise(analysis: Analysis, frame: Frame, node: Any) -> None:
    if node.exc is not None:
        evaluate(analysis, frame, node.exc)
    frame.out.append(Exit("raise", analysis.site(frame, node)))
    frame.mask = 0


def _expr(analysis: Analysis, frame: Frame, node: Any) -> None:
    before = frame.dropped
    frame.dropped = node.value
    evaluate(analysis, frame, node.value)
    frame.dropped = before


def _assign(analysis: Analysis, frame: Frame, node: Any) -> None:
    value = evaluate(analysis, frame, node.value)
    for target in node.targets:
        assign(analysis, frame, target, value)


def _ann_assign(analysis: Analysis, frame: Frame, node: Any) -> None:
    if node.value is not None:
        assign(analysis, frame, node.target, evaluate(analysis, frame, node.value))


def _aug_assign(analysis: Analysis, frame: Frame, node: Any) -> None:
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target) if isinstance(
        node.target, ast.Name) else None  # fmt: skip
    left = evaluate(analysis, frame, load) if load is not None else unknown("augmented", id(node))
    if isinstance(node.target, ast.Attribute):
        left = evaluate(analysis, frame, node.target)
    right = evaluate(analysis, frame, node.value)
    assign(analysis, frame, node.target, binary(type(node.op).__name__, left, right))


def assign(analysis: Analysis, frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind a target; unpacks known tuples and remembers attributes of known objects."""
    taints = frame.module.taught.taints
    if taints and id(target) in taints:
        value = asserted(value, taints[id(target)])
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
    elif isinstance(target, ast.Starred):
        assign(analysis, frame, target.value, unknown("starred", id(target)))
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(analysis, frame, target.elts, value)
    elif isinstance(target, ast.Attribute):
        owner = evaluate(analysis, frame, target.value)
        kept = chosen_here(frame, target, value) if isinstance(owner.thing, Instance) else value
        _store_attribute(analysis, frame, owner, target.attr, kept)
    elif isinstance(target, ast.Subscript):
        evaluate(analysis, frame, target.value)
        evaluate(analysis, frame, target.slice)


def _unpack(analysis: Analysis, frame: Frame, targets: list[ast.expr], value: Value) -> None:
    items = value.thing.items if isinstance(value.thing, Items) else None
    constant = value.constant
    for index, target in enumerate(targets):
        element = unknown("part", value.atoms, index, taint=_element_taint(value), tags=value.tags)
        if items is not None and len(items) == len(targets):
            element = items[index]
        elif isinstance(constant, tuple) and len(constant) == len(targets):
            element = Value((constant[index],), Taint.UNIFORM)
        assign(analysis, frame, target, element)


def _element_taint(value: Value) -> Taint:
    return Taint.RANK_LOCAL if value.taint is Taint.RANK_LOCAL else Taint.UNKNOWN


def chosen_here(frame: Frame, node: ast.AST, value: Value) -> Value:
    """What an attribute holds behind a branch on data of each rank: something else on another rank."""
    apart = decided_by(frame, node)
    if apart is None or value.thing is not None:
        return value
    return unknown("chosen", value.atoms, id(node), taint=Taint.RANK_LOCAL, tags=value.tags | apart)


def _store_attribute(analysis: Analysis, frame: Frame, owner: Value, name: str, value: Value) -> None:
    from ddpdoctor.lint.facts.analysis import symbol_key

    key = symbol_key(owner)
    if key is None:
        return
    known = frame.stores.get((key, name))
    if known is not None and known != value and frame.mask != EVERY_RANK:
        value = unknown("stored", key, name, tags=value.tags)
    frame.stores[(key, name)] = value
    analysis.heap[(key, name)] = value


def _function(_analysis: Analysis, frame: Frame, node: Any) -> None:
    if frame.function is None and len(frame.calls) == 1 and node in frame.module.tree.body:
        return  # found through the module's index
    info = modules.function(frame.module, node)
    frame.nested.append(info)
    frame.env[node.name] = of_thing(Function(info, None, frame.env), id(node))


def _class(_analysis: Analysis, frame: Frame, node: Any) -> None:
    if frame.function is None and len(frame.calls) == 1 and node in frame.module.tree.body:
        return
    info = modules.class_info(frame.module, node)
    frame.nested.extend(info.methods.values())
    frame.env[node.name] = of_thing(Class(info), id(node))


def _try(analysis: Analysis, frame: Frame, node: Any) -> None:
    before_handler = frame.handler
    start_env, start_mask = dict(frame.env), frame.mask
    frame.handler = "try"
    run(analysis, frame, node.body)
    if frame.alive:
        run(analysis, frame, node.orelse)
    env, mask, guards = frame.env, frame.mask, frame.guards
    for handler in node.handlers:
        env, mask = _handler(analysis, frame, handler, (start_env, start_mask), (env, mask))
    frame.env, frame.mask, frame.guards = env, mask, guards
    if node.finalbody:
        alive = frame.mask
        frame.mask = start_mask
        frame.handler = "finally"
        run(analysis, frame, node.finalbody)
        frame.mask &= alive
    frame.handler = before_handler


def _handler(
    analysis: Analysis, frame: Frame, handler: ast.ExceptHandler,
    start: tuple[dict[str, Value], int], ended: tuple[dict[str, Value], int],
) -> tuple[dict[str, Value], int]:  # fmt: skip
    """Simulate an `except` block; its collectives are an alternative that is never assumed to be taken."""
    before_out = frame.out
    frame.env, frame.mask, frame.out = {**ended[0], **start[0]}, start[1], []
    if handler.name:
        frame.env[handler.name] = unknown("exception", id(handler))
    frame.handler = "except"
    run(analysis, frame, handler.body)
    out, env, mask = tuple(frame.out), frame.env, frame.mask
    frame.out = before_out
    symbol = Symbol(hash(("except", id(handler))), Taint.UNKNOWN)
    if out:
        site = analysis.site(frame, handler)
        frame.out.append(Alt((symbol,), out, (), site, "except", frozenset({"exception"})))
    merged = merge((symbol,), env, mask, ended[0], ended[1], ("handler", id(handler)))
    return merged, mask | ended[1]


def _with(analysis: Analysis, frame: Frame, node: Any) -> None:
    from ddpdoctor.lint.facts.contexts import enter

    before = frame.no_grad, frame.withs
    suffixes: list[Callable[[], None]] = []
    for item in node.items:
        value = evaluate(analysis, frame, item.context_expr)
        suffixes.append(enter(analysis, frame, item, value))
        if item.optional_vars is not None:
            assign(analysis, frame, item.optional_vars, value)
    run(analysis, frame, node.body)
    for leave in reversed(suffixes):
        leave()
    frame.no_grad, frame.withs = before


def _delete(_analysis: Analysis, frame: Frame, node: Any) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)


def _import(_analysis: Analysis, frame: Frame, node: Any) -> None:
    """A local import: names are in the module's import table; they only must not be shadowed by old values."""
    for alias in node.names:
        frame.env.pop(alias.asname or alias.name.partition(".")[0], None)


def _assert(analysis: Analysis, frame: Frame, node: Any) -> None:
    evaluate(analysis, frame, node.test)


_STATEMENTS: dict[type[ast.stmt], Callable[[Any, Frame, Any], None]] = {
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave("break"),
    ast.Continue: _leave("continue"),
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: _aug_assign,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Match: _match,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Assert: _assert,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _try
