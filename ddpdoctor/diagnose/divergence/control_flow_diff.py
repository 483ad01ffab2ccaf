"""The control-flow diff: which condition sent some ranks one way and the others another way.

Three places are known: the last common step, the odd ranks' next step, and the reference ranks' next step. On its path
the odd side passed a statement after which it could no longer reach the reference ranks' step; only statements for
which this is possible can be branch points. Paths on which a side would have left another trace in its history are
excluded.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.digest import frames, histories
from ddpdoctor.diagnose.digest.histories import History, HistoryDiff, HistoryStep
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence import library_paths
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint, Search
from ddpdoctor.diagnose.divergence.cfg import FlowGraph
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.interprocedural_reachability import Reachability
from ddpdoctor.diagnose.divergence.periodic_checks import decided_alike
from ddpdoctor.diagnose.divergence.relative_position import users_line
from ddpdoctor.diagnose.divergence.swallowing import Swallowing
from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.progress import Event, EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.enclosing import LOOPS, enclosing_loops
from ddpdoctor.program.nodes import walk

#: Most files and functions of a program that are searched.
_MOST_FILES = 12
_MOST_NODES = 20_000


def branch_points(facts: Facts, compared: Comparison, ran: RankSet | None = None) -> tuple[BranchPoint, ...]:
    """All possible branch points in source order; empty if the source does not connect the three places.

    `ran`: the ranks that tell which of several functions of one name is meant, where ranks have roles of their own;
    None for all.
    """
    if ran is not None:
        return _in_the_job(facts, compared, ran)
    found = () if library_paths.goes_round(facts, compared) else _in_the_job(facts, compared, None)
    if not found and (outside := _outside_generators(facts, compared)) != compared:
        found = _in_the_job(facts, outside, None)
    return found or library_paths.explained(facts, compared)


def _outside_generators(facts: Facts, compared: Comparison) -> Comparison:
    """The same at the lines that asked a generator for its next element: `next(feed)` does not show its function."""
    diff = compared.diff
    left, right = diff.left or (diff.after,), diff.right or (diff.after,)
    if diff.before is None or left[0] is None or right[0] is None:
        return compared
    before, odd, reference = (_asked(facts, step) for step in (diff.before, left[0], right[0]))
    return replace(
        compared, diff=replace(diff, before=before, left=(odd, *diff.left[1:]), right=(reference, *diff.right[1:]))
    )


def _asked(facts: Facts, step: HistoryStep) -> HistoryStep:
    while step.site is not None and len(step.path) > 1 and step.path[0] == step.site:
        function = enclosing.function_around(facts.program, step.site)
        if function is None or not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk(function)):
            break
        step = replace(step, site=step.path[1], path=step.path[1:])
    return step


def past_a_turn(facts: Facts, compared: Comparison, head: Site) -> tuple[BranchPoint, ...]:
    """The branch points by which a turn of the loop leads to the next one without the reference ranks' next step: from
    the loop's head, or from the last common step where that belongs to the same turn.
    """
    turn = HistoryStep(EventKind.NEXT, head)
    for before in (turn, compared.before):
        diff = replace(compared.diff, before=before, left=(turn,), right=compared.diff.right[:1])
        found = _in_the_job(facts, replace(compared, diff=diff), None, _Turns(head))
        if found:
            return found
    return ()


def twice_in_a_turn(facts: Facts, compared: Comparison, head: Site) -> bool:
    """Whether a turn of the loop can come to the reference ranks' next step again: they may have made it once more."""
    step = _by_user(facts, compared.reference, compared.reference_next)
    graph = _graph(facts, _files(facts, compared, *([step.site] if step and step.site else [])))
    if graph is None or step is None or step.site is None:
        return True
    nodes = graph.at(step.site.file, step.site.line)
    back = Reachability(graph).leading_to(nodes, graph.at(head.file, head.line))
    return any(edge.target in back for node in graph.done(nodes) for edge in graph.nodes[node].edges)


def to_the_end(facts: Facts, compared: Comparison) -> tuple[BranchPoint, ...]:
    """The branch points by which the odd ranks' program can have come to its end after the last common step, where the
    others went on to their next one."""
    before, reference_next = (
        _taken(facts, compared.before),
        _by_user(facts, compared.reference, compared.reference_next),
    )
    if before is None or reference_next is None or not (before.site and reference_next.site):
        return ()
    frames_of = [frame for frame in before.path or (before.site,) if not facts.is_library(frame.file)]
    graph = _graph(facts, tuple(dict.fromkeys(site.file for site in (before.site, reference_next.site, *frames_of))))
    left, right = map(facts.histories.get, compared.pair)
    if graph is None or left is None or right is None or not frames_of:
        return ()
    outermost = graph.at(frames_of[-1].file, frames_of[-1].line)
    finish = frozenset(graph.functions[graph.home[node]].exit for node in outermost)
    traced = _traced(graph, (_traced_sites(facts, left, right), _traced_sites(facts, right, left)))
    # a loop with equally many turns everywhere has ended on no rank before the others
    search = Search(
        graph,
        traced[0] | _rounds_for_all(facts, graph, reference_next),
        traced[1],
        functools.partial(decided_alike, facts),
    )
    return search.branch_points(facts.program, before, None, reference_next, finish)


def ends(facts: Facts, compared: Comparison) -> tuple[BranchPoint, ...]:
    """All possible branch points, those included which all ranks decide alike."""
    return _in_the_job(facts, compared, None, _Turns(None))


@dataclass(frozen=True, slots=True)
class _Turns:
    """A search for what ends a turn of a loop."""

    #: the loop that no way may pass, None to search for what ended the loop
    head: Site | None


@kept
def _in_the_job(
    facts: Facts, compared: Comparison, ran: RankSet | None, turns: _Turns | None = None
) -> tuple[BranchPoint, ...]:
    """Those in the job's own files."""
    before, odd, reference = _taken(facts, compared.before), compared.odd, compared.reference
    odd_next, reference_next = (
        _by_user(facts, odd, compared.odd_next),
        _by_user(facts, reference, compared.reference_next),
    )
    if (
        before is None
        or odd_next is None
        or reference_next is None
        or not (before.site and odd_next.site and reference_next.site)
    ):
        return ()
    graph = _graph(facts, _files(facts, compared, before.site, odd_next.site, reference_next.site), ran)
    left, right = map(facts.histories.get, compared.pair)
    if graph is None or before.site.file not in graph.files or left is None or right is None:
        return ()
    callers = _callers(facts, graph, odd, odd_next.site)
    if ran is None:
        traced = _traced(graph, (_traced_sites(facts, left, right), _traced_sites(facts, right, left)))
    else:
        own_way = _recorded(facts, odd)
        traced = _traced(graph, (own_way, own_way))
        # the line that led to where the rank is now leaves that trace whenever the rank passes it
        traced[1] = traced[1].union(*callers)
    # a rank that reaches a loop with equally many iterations everywhere does in it what the other side does there
    rounds = [_rounds_for_all(facts, graph, step) for step in (odd_next, reference_next)]
    traced = [traced[0] | (rounds[1] - rounds[0]), traced[1] | (rounds[0] - rounds[1])]
    alike = functools.partial(decided_alike, facts)
    if turns is not None:
        head = graph.at(turns.head.file, turns.head.line) if turns.head else frozenset[int]()
        search = Search(graph, traced[0] | head, traced[1] | head, alike if head else _never, callers)
        return search.branch_points(facts.program, before, odd_next, reference_next)
    found = Search(graph, traced[0], traced[1], alike, callers).branch_points(
        facts.program, before, odd_next, reference_next
    )
    if found:
        return found
    # a loop over something around a loader (islice, zip) may end without a trace of the loader's end
    loops = frozenset(n for side in traced for n in side if isinstance(graph.nodes[n].stmt, LOOPS))
    search = Search(graph, traced[0] - loops, traced[1] - loops, alike, callers)
    return search.branch_points(facts.program, before, odd_next, reference_next)


def _files(facts: Facts, compared: Comparison, *sites: Site) -> tuple[str, ...]:
    """The files of these places and of where both ranks are."""
    return tuple(dict.fromkeys(site.file for site in (*sites, *itertools.chain(*map(facts.stack, compared.pair)))))


def _never(_: Site) -> bool:
    return False


def _traced(graph: FlowGraph, sides: tuple[set[Site], set[Site]]) -> list[frozenset[int]]:
    """The statements that leave a trace of each side: those at its places, and calls that always leave one."""
    own = graph.collectives()
    every = [own.union(*(graph.done(graph.at(site.file, site.line)) for site in side)) for side in sides]
    # what is called only if what stands before it lets it may be passed without a trace
    return [frozenset(node for node in one if not graph.short_circuits(node)) for one in every]


def against_itself(
    facts: Facts, rank: Rank, before: HistoryStep, now: HistoryStep, usual: HistoryStep
) -> tuple[BranchPoint, ...]:
    """The branch points at which one rank left the way that it used to go."""
    ranks = RankSet.of([rank])
    diff = HistoryDiff(before, (now,), (usual,), rejoined=False)
    return branch_points(facts, Comparison(ranks, ranks, diff, (rank, rank)), ranks)


def _callers(facts: Facts, graph: FlowGraph, ranks: RankSet, site: Site) -> tuple[frozenset[int], ...]:
    """The callers of the function that the line is in, outwards, if one of the ranks is still in them."""
    stacks = (facts.stack(rank) for rank in ranks)
    stack = next((stack for stack in stacks if stack and frames.same_place(stack[0], site)), ())
    found = (graph.calling(outer, inner) for inner, outer in itertools.pairwise(stack))
    return tuple(nodes for nodes in found if nodes)


def _by_user(facts: Facts, ranks: RankSet, step: HistoryStep | None) -> HistoryStep | None:
    """The step at the user's line if a library made it and a rank is still in it, and a batch where it is taken."""
    step = _taken(facts, step)
    return replace(step, site=users_line(facts, ranks, step.site)) if step and step.site else step


def _taken(facts: Facts, step: HistoryStep | None) -> HistoryStep | None:
    """The step, a batch at the line that takes it and not at that which made the iterator."""
    return replace(step, site=_site(facts, step)) if step is not None else None


def _site(facts: Facts, step: HistoryStep | Event) -> Site | None:
    if step.kind is not EventKind.NEXT or step.site in step.path:
        return step.site
    return next((frame for frame in step.path if not facts.is_library(frame.file)), step.site)


def _rounds_for_all(facts: Facts, graph: FlowGraph, step: HistoryStep) -> frozenset[int]:
    """Heads of the loops around a step, in its function and those that called it, that make equally many iterations on
    every rank.
    """
    places = dict.fromkeys(place for place in (step.site, *step.path) if place is not None)
    heads = [replace(place, line=span.first) for place in places for span in enclosing_loops(facts.program, place)]
    return frozenset().union(*(graph.at(head.file, head.line) for head in heads if decided_alike(facts, head)))


def _traced_sites(facts: Facts, one: History, other: History) -> set[Site]:
    """Places that `one` cannot have passed without a trace: they leave a trace that both histories show, or one that
    this history never shows.
    """
    both = _sites(facts, itertools.chain(*histories.shared(one, other)))
    never = set[Site]() if one.truncated else _sites(facts, other.steps) - _sites(facts, one.steps)
    return both | never


def _sites(facts: Facts, steps: Iterable[HistoryStep | Event]) -> set[Site]:
    return {site for step in steps if (site := _site(facts, step)) is not None}


def _recorded(facts: Facts, ranks: RankSet) -> set[Site]:
    """All places where the first of these ranks left a trace, messages to single ranks included."""
    seen = facts.evidence.rank(ranks.members[0])
    return _sites(facts, seen.page.events) if seen and seen.page else set()


def sentences(found: tuple[BranchPoint, ...], odd: RankSet, reference: RankSet) -> Iterator[str]:
    """One sentence for each possible branch point."""
    one_of = "" if len(found) == 1 else "perhaps "
    for point in found:
        yield one_of + _sentence(point, wording.ranks(odd), wording.ranks(reference))


def _sentence(point: BranchPoint, odd: str, reference: str) -> str:
    where, jump = wording.place(point.site), wording.place(point.jump)
    if point.sets:
        return (
            f"{odd} ran `{point.sets}` at {wording.place(point.shown)}, which `{point.tested_text}` at "
            f"{wording.place(point.tested)} tests"
        )
    if point.taken is EdgeKind.RAISED:
        return f"{odd} raised what `{point.text}` at {where} catches; {reference} did not"
    if point.kind is BranchKind.CALLBACK:
        return f"in `{point.text}` at {where} a library called the program back on {odd} and not on {reference}"
    if point.kind is BranchKind.CONDITION and point.taken is EdgeKind.ON:
        return f"{odd} left out the call in `{point.text}` at {where}, which {reference} made"
    if point.kind is BranchKind.RETURN:
        return f"`{point.text}` at {where} returned on {odd}, whose data had not ended; {reference} went on in it"
    if point.kind in (BranchKind.COUNT, BranchKind.DATA):
        ended, went_on = (odd, reference) if point.taken is EdgeKind.END else (reference, odd)
        return f"`{point.text}` at {where} ended on {ended} and continued on {went_on}"
    if point.jump is None:
        yes = point.taken in (EdgeKind.YES, EdgeKind.ROUND)
        taken, passed = (odd, reference) if yes else (reference, odd)
        return f"`{point.text}` at {where} held on {taken} and not on {passed}"
    if point.taken in (EdgeKind.NO, EdgeKind.END):
        return f"`{point.text}` at {where} did not hold on {odd}, which took `{point.jump_text}` at {jump}"
    taken = point.text if point.jump == point.site else f"{point.text}: {point.jump_text}"
    return f"{odd} took `{taken}` at {jump}; {reference} did not"


def unreadable(facts: Facts, compared: Comparison) -> str:
    """A file whose lines may not be the ones that ran, "" if the source can be trusted."""
    steps = (compared.before, compared.odd_next, compared.reference_next)
    files = [facts.evidence.code.get(step.site.file) for step in steps if step and step.site]
    return next((file.path for file in files if file and file.changed), "")


def leads_on(facts: Facts, compared: Comparison) -> bool:
    """Whether a path leads from the odd ranks' next step to the reference ranks', in the same iteration of
    all loops.
    """
    odd, reference = compared.odd, compared.reference
    odd_next, reference_next = (
        _by_user(facts, odd, compared.odd_next),
        _by_user(facts, reference, compared.reference_next),
    )
    if odd_next is None or reference_next is None or not (odd_next.site and reference_next.site):
        return False
    sites = [odd_next.site, reference_next.site, *itertools.chain(*map(facts.stack, compared.pair))]
    graph = _graph(facts, tuple(dict.fromkeys(site.file for site in sites)))
    if graph is None:
        return False
    start, targets = (
        graph.at(odd_next.site.file, odd_next.site.line),
        graph.at(reference_next.site.file, reference_next.site.line),
    )
    found, todo = set(graph.done(start)), list(graph.done(start))
    while todo:
        index = todo.pop()
        for edge in graph.nodes[index].edges:
            if edge.kind is EdgeKind.RAISED:
                continue
            new = set(graph.in_this_round(index, edge.target)) - found
            found |= new
            todo.extend(new)
    return bool(targets & (found - start))


def past_a_condition(facts: Facts, compared: Comparison) -> bool:
    """Whether one condition leads past the odd ranks' call and both then reach the reference ranks' step: no swap."""
    points = branch_points(facts, compared)
    if len(points) != 1 or not points[0].enters or compared.before in (compared.odd_next, compared.reference_next):
        return False
    back = leads_on(facts, compared.mirrored())
    return leads_on(facts, compared) and not back


def goes_through_all(facts: Facts, compared: Comparison) -> bool:
    """Whether both sides are in one call of a loop over things that are written out, and it can pass none of them over.

    Then each side's next call is the one that the other is in: the order differs, and nothing is missing.
    """
    ours, theirs = compared.odd_next, compared.reference_next
    stacks = tuple(map(facts.stack, compared.pair))
    if ours is None or theirs is None or ours.site is None or ours.site != theirs.site or stacks[0] != stacks[1]:
        return False
    graph = _graph(facts, tuple(dict.fromkeys(frame.file for frame in stacks[0])))
    loops = ((frame.file, loop) for frame in stacks[0] if (loop := enclosing.loop_around(facts.program, frame)))
    file, loop = next(loops, ("", None))
    if graph is None or not isinstance(loop, ast.For) or not isinstance(loop.iter, (ast.Tuple, ast.List)):
        return False
    heads = graph.at(file, loop.lineno)
    return all(_meets(graph, head, graph.at(ours.site.file, ours.site.line)) for head in heads)


def _meets(graph: FlowGraph, head: int, call: frozenset[int]) -> bool:
    """Whether every iteration of the loop comes to the call, whatever is raised in it."""
    loop = graph.nodes[head]
    body = range(loop.first + 1, (getattr(loop.stmt, "end_lineno", None) or loop.first) + 1)
    todo = [edge.target for edge in loop.edges if edge.kind is EdgeKind.ROUND]
    found = set(todo)
    while todo:
        index = todo.pop()
        node = graph.nodes[index]
        if index in call:
            continue
        leaves = graph.home[index] == graph.home[head] and node.stmt is not None and node.first not in body
        if leaves or isinstance(node.stmt, ast.ExceptHandler):
            return False
        new = {edge.target for edge in node.edges} - found
        found |= new
        todo.extend(new)
    return True


def ended_inner_loop(facts: Facts, compared: Comparison) -> bool:
    """Whether the odd ranks' call follows a loop that the others were still in, and all ranks reach it at the loop's
    end.
    """
    points = branch_points(facts, compared)
    return bool(points) and all(
        point.kind in (BranchKind.DATA, BranchKind.COUNT) and point.taken is EdgeKind.END for point in points
    )


@kept
def _graph(facts: Facts, files: tuple[str, ...], ranks: RankSet | None = None) -> FlowGraph | None:
    """The control-flow graph of those files that are the user's, as these ranks ran them; None if it is too large."""
    own = [file for file in files if not facts.is_library(file)][:_MOST_FILES]
    modules = {file: module for file in own if (module := facts.program.module(file)) is not None}
    chosen = [seen.rank for seen in facts.evidence.ranks if ranks is None or seen.rank in ranks]
    ways = tuple(dict.fromkeys(way for rank in chosen for way in _ways(facts, rank)))
    ran = frozenset((site.file, site.line) for site in itertools.chain(*ways) if site.file in modules)
    pairs = {pair for way in ways for pair in itertools.pairwise(way)}
    calls = frozenset(((caller.file, caller.line), (called.file, called.line)) for called, caller in pairs)
    graph = FlowGraph(modules, ran, calls, swallowing=_swallowing(facts))
    return graph if len(graph.nodes) <= _MOST_NODES else None


@kept
def _swallowing(facts: Facts) -> Swallowing:
    """The program's own context managers, in whatever file."""
    own = [file for file in facts.program if not facts.is_library(file)]
    return Swallowing(module for file in own if (module := facts.program.module(file)) is not None)


def _ways(facts: Facts, rank: Rank) -> Iterator[tuple[Site, ...]]:
    """The frames that led to where the rank is, and to each event of its history."""
    yield facts.stack(rank)
    for step in facts.histories[rank].steps if rank in facts.histories else ():
        if step.site is not None:
            yield step.path or (step.site,)
