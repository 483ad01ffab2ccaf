"""Loops over names of which some ranks have fewer, and conditions on which a rank with nothing returns early."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from ddpdoctor.diagnose.digest import frames, operations
from ddpdoctor.diagnose.digest.histories import History, HistoryStep
from ddpdoctor.diagnose.divergence import empty_checks
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.divergence.periodic_checks import decided_alike
from ddpdoctor.diagnose.divergence.relative_position import outside_torch
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk

#: functions of libraries that reduce each value under the name that it is given with (Lightning's `self.log`)
_REDUCING_BY_NAME = ("log", "log_dict")


def key_loop(facts: Facts, divergence: Divergence) -> tuple[BranchPoint, HistoryStep, RankSet] | None:
    """The loop over names of which some ranks had fewer: the loop, the call in it, the ranks that made one
    more call.
    """
    sides = (
        (divergence.odd_next, divergence.reference_next, divergence.odd),
        (divergence.reference_next, divergence.odd_next, divergence.reference),
    )
    before = divergence.diff.before
    for more, less, ranks in sides:
        if more is None or more.kind is not EventKind.CALL or more.site is None or more == less:
            continue
        if before is not None and before.kind is not EventKind.CALL:
            continue
        if (around := _names_in_expression(facts, divergence, more, ranks)) is not None:
            return around, more, ranks
        for point in divergence.branch_points:
            loop = _loop_over_names(facts, point, more.site, ranks) if point.kind is BranchKind.DATA else None
            if loop and not (less and less.site and less.site.file == more.site.file and less.site.line in loop):
                return point, more, ranks
        if (around := _names_in_statement(facts, before, more, less)) is not None:
            return around, more, ranks
    return None


def unusual_side(facts: Facts, call: HistoryStep, fewer: RankSet, more: RankSet) -> RankSet:
    """The smaller side; of two equal ones that which had another number of names than in its earlier passes through the
    loop, nobody if the passes do not tell.
    """
    return min(fewer, more, key=len) if len(fewer) != len(more) else _changed(facts, call, fewer, more)


def _changed(facts: Facts, call: HistoryStep, fewer: RankSet, more: RankSet) -> RankSet:
    mine, theirs = facts.histories.get(fewer.members[0]), facts.histories.get(more.members[0])
    if mine is None or theirs is None:
        return RankSet()
    *earlier, last = _passes(mine, call, _between(theirs, call)) or [0]
    if not earlier:
        return RankSet()
    return fewer if min(earlier) > last else more if set(earlier) == {last} else RankSet()


def _between(history: History, call: HistoryStep) -> tuple[HistoryStep, ...]:
    """What one iteration does besides the call, from the newest iteration that made it twice."""
    steps = history.steps
    places = [n for n, step in enumerate(steps) if step == call]
    return steps[places[-2] + 1 : places[-1]] if len(places) > 1 else ()


def _passes(history: History, call: HistoryStep, between: tuple[HistoryStep, ...]) -> list[int]:
    """How many times the call was made in each pass through the loop. A line that makes the call several times, with
    others of its own between them, is in one iteration."""
    places = [n for n, step in enumerate(history.steps) if step == call]
    counts: list[int] = []
    for n, place in enumerate(places):
        since = history.steps[places[n - 1] + 1 : place] if n > 0 else ()
        goes_on = n > 0 and (since == between or all(step.site == call.site for step in since))
        counts = [*counts[:-1], counts[-1] + 1] if goes_on else [*counts, 1]
    return counts


def _names_in_expression(facts: Facts, divergence: Divergence, more: HistoryStep, ranks: RankSet) -> BranchPoint | None:
    """The line that iterates over a mapping's names, if the ranks are in its calls again."""
    before = divergence.diff.before
    if before is None or before.site != more.site or before.op != more.op:
        return None
    below = tuple(itertools.takewhile(lambda f: facts.is_library(f.file), outside_torch(facts, ranks.members[0])))
    for frame in (*facts.stack(ranks.members[0]), *(more.via or below)):
        tree = facts.program.tree(frame.file)
        for node in walk(tree) if tree else ():
            if _goes_over_names(node) and node.lineno <= frame.line <= (node.end_lineno or node.lineno):
                text = facts.statement(frame)
                # a library goes over the names that the job's line gives it
                shown = more.site if facts.is_library(frame.file) else None
                return BranchPoint(BranchKind.DATA, EdgeKind.ROUND, frame, text, shown=shown)
    return None


def _names_in_statement(
    facts: Facts, before: HistoryStep | None, more: HistoryStep, less: HistoryStep | None
) -> BranchPoint | None:
    """The innermost `for` over a mapping's names on the way to the call, where the source does not show how it ended:
    the step before is in it, too, and the other side's step is not.

    A library goes over the names that the job's line gives it.
    """
    for frame in more.path:
        for node in reversed(enclosing.around(facts.program, frame)):
            if not isinstance(node, ast.For) or not _over_names(node) or _passes_through(less, frame, node):
                continue
            if before is None or _passes_through(before, frame, node):
                head = replace(frame, line=node.lineno)
                shown = more.site if facts.is_library(frame.file) else None
                return BranchPoint(BranchKind.DATA, EdgeKind.ROUND, head, facts.statement(head), shown=shown)
    return None


def _passes_through(step: HistoryStep | None, frame: Site, loop: ast.For) -> bool:
    """Whether the step was made inside the loop, which is in the frame's file."""
    lines = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    return step is not None and any(one.file == frame.file and one.line in lines for one in step.path)


def _goes_over_names(node: ast.AST) -> TypeGuard[ast.expr]:
    """Whether it iterates over names: `{k: mean(v) for k, v in logs.items()}`, `map(mean, logs.values())`."""
    match node:
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            given = [generator.iter for generator in node.generators]
            if _looks_up(node, [generator.target for generator in node.generators]):
                return True
        case ast.Call(func=ast.Name(id="map"), args=[_, *given]):
            pass
        case _:
            return False
    called = {
        inner.func.attr
        for part in given
        for inner in walk(part)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
    }
    return bool(called & {"items", "keys", "values"})


def nothing_to_give(facts: Facts, divergence: Divergence) -> BranchPoint | None:
    """The condition on which a rank with nothing collected returns before the ranks' results are gathered."""
    if divergence.odd_next is None or divergence.odd_next.site is None or len(divergence.branch_points) != 1:
        return None
    point = divergence.branch_points[0]
    collects = operations.family(divergence.odd_next.op) in ("all_gather", "gather")
    decided = (
        divergence.pattern is Pattern.EXTRA_CALL
        and point.kind is BranchKind.CONDITION
        and point.site.file == divergence.odd_next.site.file
    )
    return point if collects and decided and empty_checks.asks_empty(facts.program, point.site) else None


def not_logged(facts: Facts, divergence: Divergence) -> BranchPoint | None:
    """The condition on which a rank did not call a library's function that reduces a value under its name."""
    call, points = divergence.odd_next, divergence.branch_points
    if divergence.pattern is not Pattern.EXTRA_CALL or call is None or not points:
        return None
    named = any(facts.is_library(frame.file) and frame.function.endswith(_REDUCING_BY_NAME) for frame in call.via)
    return points[-1] if named and points[-1].kind is BranchKind.CONDITION else None


def given_on_condition(facts: Facts) -> Site | None:
    """The only condition on which the job gives a library a value that it reduces under its name, later and in a loop
    of its own; None if there are several, or one that all ranks decide alike."""
    own = [file for file in facts.program if not facts.is_library(file)]
    calls = [(file, node) for file in own for node in _naming(facts, file)]
    reduced = [(file, node) for file, node in calls if _is_synced(node)]
    found = {_condition(facts, Site(file, node.lineno, "")) for file, node in reduced or calls} - {None}
    return found.pop() if len(found) == 1 else None


def _naming(facts: Facts, file: str) -> Iterator[ast.Call]:
    """The calls that give a library values under names: `self.log("loss", loss)`, and no `torch.log(loss)`."""
    tree = facts.program.tree(file)
    for node in walk(tree) if tree else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            match node.func.attr, node.args:
                case ("log", [ast.Constant(value=str()) | ast.JoinedStr(), _, *_]) | ("log_dict", [_, *_]):
                    yield node
                case ("log", _) if _is_synced(node):
                    yield node


def _is_synced(call: ast.Call) -> bool:
    """Lightning reduces what is logged with sync_dist alone."""
    return any(keyword.arg == "sync_dist" for keyword in call.keywords)


def _condition(facts: Facts, call: Site) -> Site | None:
    """The innermost condition around the call, in its function, that ranks may decide differently."""
    around = (node for node in enclosing.around(facts.program, call) if isinstance(node, ast.If))
    tests = (replace(call, line=node.lineno) for node in around)
    return next((test for test in tests if not decided_alike(facts, test)), None)


def _loop_over_names(facts: Facts, point: BranchPoint, call: Site, ranks: RankSet) -> range | None:
    """The loop's lines, if it iterates over a mapping or its keys and contains the call, or the line that led to it."""
    tree = facts.program.tree(point.site.file)
    stack = facts.stack(ranks.members[0])
    led = stack if stack and frames.same_place(stack[0], call) else (call,)
    for node in walk(tree) if tree else ():
        if not isinstance(node, ast.For) or node.lineno != point.site.line:
            continue
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if any(place.file == point.site.file and place.line in lines for place in led) and _over_names(node):
            return lines
    return None


def _over_names(loop: ast.For) -> bool:
    """Whether it is `for k in d` with `d[k]` read in it, or `for k, v in d.items()`."""
    methods = {n.func.attr for n in walk(loop.iter) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    if any(method.endswith(("items", "keys", "values")) for method in methods):
        return True
    return any(_looks_up(statement, [loop.target]) for statement in loop.body)


def _looks_up(body: ast.AST, targets: list[ast.expr]) -> bool:
    """Whether what the loop goes over is read as an index: `logs[name]`."""
    names = {node.id for target in targets for node in walk(target) if isinstance(node, ast.Name)}
    return any(_index(node) in names for node in walk(body))


def _index(node: ast.AST) -> str:
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.id if isinstance(key, ast.Name) else ""
