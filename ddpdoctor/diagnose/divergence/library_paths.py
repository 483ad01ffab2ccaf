"""Branch points inside a library: where the ranks parted if the loop that they were in is a framework's.

A framework's source is large, and a name in it rarely tells which function is called. So only those of its functions
are searched that the recorded paths of the three steps name, and a function is entered only from the line that called
it. What a condition of a library tests is then looked for in the job's own source (`stop_flags`).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import replace

from ddpdoctor.diagnose.digest import histories
from ddpdoctor.diagnose.digest.histories import History, HistoryStep
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence import stop_flags
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint, Search
from ddpdoctor.diagnose.divergence.cfg import FlowGraph
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import walk

Frames = tuple[Site, ...]
#: events that are recorded when what they name is done: a step of an optimizer runs its closure first
_WHEN_DONE = frozenset({EventKind.OPTIMIZER_STEP, EventKind.NEXT, EventKind.STOP_ITERATION})


def fork(*steps: HistoryStep | None) -> Site | None:
    """The innermost function that all steps passed through on the same way, as the first step's line in it. None if
    their paths are not known.
    """
    paths = [step.path[::-1] if step else () for step in steps]
    found = None
    for frames in zip(*paths, strict=False):
        first = frames[0]
        if any((frame.file, frame.function) != (first.file, first.function) for frame in frames):
            break
        found = first
        if any(frame.line != first.line for frame in frames):
            break
    return found


def goes_round(facts: Facts, compared: Comparison) -> bool:
    """Whether one line of the job made the last common call and the reference ranks' next one, and the library that it
    calls has a loop around them: the line is then a whole program and not one statement.
    """
    before, following = compared.before, compared.reference_next
    if before is None or following is None or before.site != following.site:
        return False
    return any(enclosing.enclosing_loop(facts.program, frame) for frame in (*before.via, *following.via))


@kept
def explained(facts: Facts, compared: Comparison) -> tuple[BranchPoint, ...]:
    """The branch points to show for ranks that parted in a library.

    They are conditions under which the job sets what the library tests; else statements of the job on the paths; else
    those of the library's function in which the ranks parted.
    """
    where = fork(compared.before, compared.odd_next, compared.reference_next)
    if where is None:
        return ()
    if not facts.is_library(where.file):
        return _returned(facts, compared, where) or _caught_above(facts, compared, where)
    every = branch_points(facts, compared)
    told = _told(facts, compared, where, every)
    if told:
        return told
    own = tuple(point for point in every if not facts.is_library(point.site.file))
    left = own or _without_flags(
        facts, [p for p in every if (p.site.file, p.site.function) == (where.file, where.function)]
    )
    return tuple(_shown(facts, point, compared) for point in left)


def _returned(facts: Facts, compared: Comparison, where: Site) -> tuple[BranchPoint, ...]:
    """The call of a library from which the odd ranks have returned, while it goes on for the others and their data had
    not ended: something that it tests told it to stop.
    """
    before, following = compared.before, compared.reference_next
    if before is None or following is None or not has_returned(facts, compared):
        return ()
    stops = [*_exits(facts, before, where), *_exits(facts, following, where)]
    told = {p.place: p for one in stops for p in stop_flags.told_by_job(facts, one, leaves=True)}
    return tuple(told.values()) or (BranchPoint(BranchKind.RETURN, EdgeKind.END, where, facts.statement(where)),)


def has_returned(facts: Facts, compared: Comparison) -> bool:
    """Whether the odd ranks' call comes after a call of a library in whose loop the others still are."""
    now, following = compared.odd_next, compared.reference_next
    where = fork(compared.before, now, following)
    if where is None or now is None or following is None or facts.is_library(where.file):
        return False
    if now.kind is not EventKind.CALL or where in now.path or where not in following.path:
        return False
    history = facts.histories.get(compared.pair[0])
    # without a batch of the loop on record, its end would not be on record either
    batches = history is not None and any(one.kind is EventKind.NEXT and where in one.path for one in history.steps)
    return batches and _loops_below(facts, following, where)


def _caught_above(facts: Facts, compared: Comparison, where: Site) -> tuple[BranchPoint, ...]:
    """Where a library that calls the job's function catches what it raises, and calls it again."""
    path = compared.before.path if compared.before else ()
    around = {(frame.file, frame.function) for frame in path[path.index(where) :]}
    points = [one for one in branch_points(facts, compared) if (one.site.file, one.site.function) in around]
    caught = [point for point in points if point.kind is BranchKind.EXCEPTION and facts.is_library(point.site.file)]
    return tuple(_shown(facts, point, compared) for point in caught) if len(caught) == len(points) else ()


def _loops_below(facts: Facts, step: HistoryStep, where: Site) -> bool:
    """Whether the line calls a library, and the step is in a loop of that library."""
    below = step.path[: step.path.index(where)]
    called = itertools.takewhile(lambda frame: facts.is_library(frame.file), reversed(below))
    return any(enclosing.enclosing_loop(facts.program, frame) for frame in called)


def _told(facts: Facts, compared: Comparison, where: Site, every: Sequence[BranchPoint]) -> tuple[BranchPoint, ...]:
    """The conditions of the job under which it sets what a condition of the library on the way tests."""
    tested = [point for point in every if point.kind is BranchKind.CONDITION and facts.is_library(point.site.file)]
    entered = (*tested, *_conditions_above(facts, compared.odd_next, where))
    shared = fork(compared.before, compared.reference_next) or where
    passed = (*_conditions_above(facts, compared.reference_next, shared), *_exits(facts, compared.before, where))
    asked = [*((point, False) for point in entered), *((point, True) for point in passed)]
    told = {p.place: p for one, leaves in asked for p in stop_flags.told_by_job(facts, one, leaves=leaves)}
    return tuple(told.values())


def _without_flags(facts: Facts, points: list[BranchPoint]) -> list[BranchPoint]:
    """Without the flags that may end a loop too: the job sets none of them, so the loop ended by itself."""
    loops = [point for point in points if point.taken is EdgeKind.END]
    flags = [p for p in points if p.kind is BranchKind.CONDITION and stop_flags.flags(facts, p.site)]
    return loops if loops and len(loops) + len(flags) == len(points) else points


def _shown(facts: Facts, point: BranchPoint, compared: Comparison) -> BranchPoint:
    """A branch point in a library, to be shown at the job's line that runs it.

    Whether its loops can pass without a trace is not asked: in a framework they could, on ways that no job takes.
    """
    step = compared.odd_next
    if step is None or not facts.is_library(point.site.file):
        return point
    return replace(point, shown=step.site, idle=False)


def _conditions_above(facts: Facts, step: HistoryStep | None, where: Site) -> list[BranchPoint]:
    """Conditions around the lines of libraries that led to a step, from the fork on, innermost first."""
    found = []
    for frame in step.path if step else ():
        for node in enclosing.around(facts.program, frame) if facts.is_library(frame.file) else ():
            if isinstance(node, ast.If):
                site = replace(frame, line=node.lineno)
                found.append(BranchPoint(BranchKind.CONDITION, EdgeKind.YES, site, facts.statement(site)))
        if (frame.file, frame.function) == (where.file, where.function):
            break
    return found


def _exits(facts: Facts, step: HistoryStep | None, where: Site) -> list[BranchPoint]:
    """Conditions that end a loop of a library around the step, from the fork on, innermost first."""
    found = []
    for frame in step.path if step else ():
        around = enclosing.around(facts.program, frame) if facts.is_library(frame.file) else ()
        loops = [loop for loop in around if isinstance(loop, enclosing.LOOPS)]
        asked = [method.node for loop in loops if isinstance(loop, ast.While) for method in _asked(facts, frame, loop)]
        for node in (node for part in (*loops, *asked) for node in walk(part)):
            if isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Break, ast.Return, ast.Raise)):
                site = replace(frame, line=node.lineno)
                found.append(BranchPoint(BranchKind.CONDITION, EdgeKind.YES, site, facts.statement(site)))
        if (frame.file, frame.function) == (where.file, where.function):
            break
    return found


def _asked(facts: Facts, frame: Site, loop: ast.While) -> list[FunctionInfo]:
    """The methods and properties of the loop's own class that its test asks: `done` of `while not self.done`."""
    module = facts.program.module(frame.file)
    owners = [one for one in module.classes if loop in walk(one.node)] if module is not None else []
    names = {node.attr for node in walk(loop.test) if isinstance(node, ast.Attribute)}
    return [method for owner in owners for name, method in owner.methods.items() if name in names]


@kept
def branch_points(facts: Facts, compared: Comparison) -> tuple[BranchPoint, ...]:
    """All possible branch points in the functions on the three paths, in the job's and in libraries' files."""
    before, odd_next, reference_next = compared.before, compared.odd_next, compared.reference_next
    left, right = map(facts.histories.get, compared.pair)
    if before is None or odd_next is None or reference_next is None or left is None or right is None:
        return ()
    graph = _graph(facts, (before.path, odd_next.path, reference_next.path))
    shared = fork(before, odd_next, reference_next)
    steps = [_reached(graph, step, shared) for step in (before, odd_next, reference_next)]
    if any(step.site is None for step in steps):
        return ()
    callers = tuple(nodes for nodes in (graph.at(f.file, f.line) for f in odd_next.path[1:]) if nodes)
    search = Search(graph, _traced(graph, left, right), _traced(graph, right, left), lambda _: False, callers)
    return search.branch_points(facts.program, steps[0], steps[1], steps[2])


def _graph(facts: Facts, paths: Sequence[Frames]) -> FlowGraph:
    files = dict.fromkeys(frame.file for path in paths for frame in path)
    modules = {file: module for file in files if (module := facts.program.module(file)) is not None}
    lines = frozenset((frame.file, frame.line) for path in paths for frame in path)
    pairs = {pair for path in paths for pair in itertools.pairwise(path)}
    calls = frozenset(((caller.file, caller.line), (called.file, called.line)) for called, caller in pairs)
    return FlowGraph(modules, lines, calls, only=lines)


def _reached(graph: FlowGraph, step: HistoryStep, shared: Site | None) -> HistoryStep:
    """The step at its innermost line whose function is known and runs when it is called. A generator does not; but
    within a generator that all steps share, the way from one line to another is a function's.
    """
    for frame in step.path:
        nodes = graph.at(frame.file, frame.line)
        inside = shared is not None and (frame.file, frame.function) == (shared.file, shared.function)
        if nodes and (inside or not any(graph.functions[graph.home[node]].yields for node in nodes)):
            return replace(step, site=frame)
    return replace(step, site=None)


def _traced(graph: FlowGraph, one: History, other: History) -> frozenset[int]:
    """Statements that `one` cannot have passed without a trace: both sides have traces of them, or only the other."""
    both = {_innermost(step) for side in histories.shared(one, other) for step in side}
    ours, theirs = ({_innermost(step) for step in history.steps} for history in (one, other))
    never = set() if one.truncated else theirs - ours
    return frozenset().union(*(_left_at(graph, site, kind) for site, kind in both | never if site is not None))


def _innermost(step: HistoryStep) -> tuple[Site | None, EventKind]:
    return step.path[0] if step.path and step.kind is not EventKind.NEXT_RAISED else None, step.kind


def _left_at(graph: FlowGraph, site: Site, kind: EventKind) -> frozenset[int]:
    """Where a statement leaves its trace: behind the calls that it makes, if the probe records it when it is done."""
    nodes = graph.at(site.file, site.line)
    if kind in _WHEN_DONE:
        nodes = frozenset(graph.seen_after.get(node, node) for node in nodes)
    return graph.done(nodes)
