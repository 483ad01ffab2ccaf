"""The control-flow diff: which condition sent one rank this way and the others that way.

Three places are known: the last thing that both sides did, what the one did next, and what the others did next. On its
way the one side came past a statement behind which there was no way any more to what the others did; the statements for
which this can be so are the only ones that can have parted them. Ways on which either side would have left another
trace in its history are no ways.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.digest import frames, histories
from ddpdoctor.diagnose.digest.histories import History, Parting, Step
from ddpdoctor.diagnose.divergence.branch_points import Choice, Kind, Search
from ddpdoctor.diagnose.divergence.relative_position import users_line
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.source_reading.cfg import LOOPS, FlowGraph
from ddpdoctor.diagnose.source_reading.cfg_model import Way
from ddpdoctor.diagnose.source_reading.source import enclosing_loops, parsed
from ddpdoctor.diagnose.source_reading.uniform_loops import same_everywhere
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site

#: Files and functions beyond which a program is not followed.
_MOST_FILES = 12
_MOST_NODES = 20_000


def choices(facts: Facts, parting: Parting, actors: RankSet, others: RankSet) -> tuple[Choice, ...]:
    """All that can have parted them, in the order of the source; empty where the source does not connect the places."""
    before = parting.before
    act, instead = _by_user(facts, actors, parting.left_next), _by_user(facts, others, parting.right_next)
    if before is None or act is None or instead is None or not (before.site and act.site and instead.site):
        return ()
    sites = [before.site, act.site, instead.site, *facts.stack(actors.members[0]), *facts.stack(others.members[0])]
    graph = _graph(facts, tuple(dict.fromkeys(site.file for site in sites)))
    left, right = facts.histories.get(actors.members[0]), facts.histories.get(others.members[0])
    if graph is None or before.site.file not in graph.files or left is None or right is None:
        return ()
    seen = _traced_sites(left, right), _traced_sites(right, left)
    own = graph.collectives()
    traced = [own.union(*(graph.done(graph.at(site.file, site.line)) for site in side)) for side in seen]
    # whoever comes to a loop with as many rounds everywhere does in it what the other side does there
    for n, (theirs, ours) in enumerate(((act.site, instead.site), (instead.site, act.site))[::-1]):
        traced[n] |= _rounds_for_all(facts, graph, theirs) - _rounds_for_all(facts, graph, ours)
    callers = _callers(facts, graph, actors, act.site)
    found = Search(graph, traced[0], traced[1], callers).choices(facts.evidence.code, before, act, instead)
    if found:
        return found
    # a loop over something around a loader (islice, zip) may end without a trace of it
    loops = frozenset(n for side in traced for n in side if isinstance(graph.nodes[n].stmt, LOOPS))
    search = Search(graph, traced[0] - loops, traced[1] - loops, callers)
    return search.choices(facts.evidence.code, before, act, instead)


def _callers(facts: Facts, graph: FlowGraph, ranks: RankSet, site: Site) -> tuple[frozenset[int], ...]:
    """Who called the function that the line is in, and so on outwards, where one of the ranks still stands there."""
    stacks = (facts.stack(rank) for rank in ranks)
    stack = next((stack for stack in stacks if stack and frames.same_place(stack[0], site)), ())
    found = (graph.at(frame.file, frame.line) for frame in stack[1:])
    return tuple(nodes for nodes in found if nodes)


def _by_user(facts: Facts, ranks: RankSet, step: Step | None) -> Step | None:
    """The step at the user's line where a library made it, if a rank still stands there."""
    return replace(step, site=users_line(facts, ranks, step.site)) if step and step.site else step


def _rounds_for_all(facts: Facts, graph: FlowGraph, site: Site) -> frozenset[int]:
    """Heads of the loops around a line, in its function, that make as many rounds on every rank."""
    spans = enclosing_loops(facts.evidence.code, site)
    heads = [replace(site, line=span.first) for span in spans]
    return frozenset().union(
        *(graph.at(head.file, head.line) for head in heads if same_everywhere(facts.evidence.code, head))
    )


def _traced_sites(one: History, other: History) -> set[Site]:
    """Places that the one cannot have passed unseen: they leave a trace that both have, or that it never left."""
    both = {step.site for side in histories.shared(one, other) for step in side if step.site}
    whole = not one.truncated
    never = {step.site for step in other.steps if step.site} - {step.site for step in one.steps} if whole else set()
    return both | never


def told(found: tuple[Choice, ...], actors: RankSet, others: RankSet) -> Iterator[str]:
    """One sentence for each statement that can have parted them."""
    one_of = "" if len(found) == 1 else "perhaps "
    for choice in found:
        yield one_of + _sentence(choice, wording.ranks(actors), wording.ranks(others))


def _sentence(choice: Choice, actors: str, others: str) -> str:
    where, jump = wording.place(choice.site), wording.place(choice.jump)
    if choice.way is Way.RAISED:
        return f"{actors} raised what `{choice.text}` at {where} catches; {others} did not"
    if choice.kind in (Kind.COUNT, Kind.DATA):
        ended, went_on = (actors, others) if choice.way is Way.END else (others, actors)
        return f"`{choice.text}` at {where} ended on {ended} and went on for {went_on}"
    if choice.jump is None:
        yes = choice.way in (Way.YES, Way.ROUND)
        taken, passed = (actors, others) if yes else (others, actors)
        return f"`{choice.text}` at {where} held on {taken} and not on {passed}"
    if choice.way in (Way.NO, Way.END):
        return f"`{choice.text}` at {where} did not hold on {actors}, which took `{choice.jump_text}` at {jump}"
    taken = choice.text if choice.jump == choice.site else f"{choice.text}: {choice.jump_text}"
    return f"{actors} took `{taken}` at {jump}; {others} did not"


def unreadable(facts: Facts, parting: Parting) -> str:
    """A file whose lines may not be the ones that ran, "" where the source can be trusted."""
    steps = (parting.before, parting.left_next, parting.right_next)
    files = [facts.evidence.code.get(step.site.file) for step in steps if step and step.site]
    return next((file.path for file in files if file and file.changed), "")


def leads_on(facts: Facts, parting: Parting, actors: RankSet, others: RankSet) -> bool:
    """From what the actors did next a way leads on to what the others did, in the same round of all loops around it."""
    act, instead = _by_user(facts, actors, parting.left_next), _by_user(facts, others, parting.right_next)
    if act is None or instead is None or not (act.site and instead.site):
        return False
    sites = [act.site, instead.site, *facts.stack(actors.members[0]), *facts.stack(others.members[0])]
    graph = _graph(facts, tuple(dict.fromkeys(site.file for site in sites)))
    if graph is None:
        return False
    start, targets = graph.at(act.site.file, act.site.line), graph.at(instead.site.file, instead.site.line)
    found, todo = set(graph.done(start)), list(graph.done(start))
    while todo:
        index = todo.pop()
        for edge in graph.nodes[index].edges:
            if edge.way is Way.RAISED:
                continue
            ends = [end.target for end in graph.nodes[edge.target].edges if end.way is Way.END]
            new = set(ends if graph.goes_round(index, edge.target) else [edge.target]) - found
            found |= new
            todo.extend(new)
    return bool(targets & (found - start))


def past_a_condition(facts: Facts, parting: Parting, actors: RankSet, others: RankSet) -> bool:
    """One condition led past the actors' call, behind which both come to what the others did: nothing was swapped."""
    ways = choices(facts, parting, actors, others)
    if len(ways) != 1 or not ways[0].enters or parting.before in (parting.left_next, parting.right_next):
        return False
    back = leads_on(facts, parting.mirrored(), others, actors)
    return leads_on(facts, parting, actors, others) and not back


def ended_inner_loop(facts: Facts, parting: Parting, actors: RankSet, others: RankSet) -> bool:
    """What the actors issued stands behind a loop that the others were still in, and all come there at its end."""
    ways = choices(facts, parting, actors, others)
    return bool(ways) and all(way.kind in (Kind.DATA, Kind.COUNT) and way.way is Way.END for way in ways)


@functools.lru_cache(maxsize=4)
def _graph(facts: Facts, files: tuple[str, ...]) -> FlowGraph | None:
    """The ways through those of the files that are the user's; None where they are too many."""
    own = [file for file in files if not frames.is_library(file)][:_MOST_FILES]
    found = {file: parsed(facts.evidence.code, file) for file in own}
    histories = [step.site for history in facts.histories.values() for step in history.steps if step.site]
    stacks = dict.fromkeys(facts.stack(seen.rank) for seen in facts.evidence.ranks)
    standing = [site for stack in stacks for site in stack]
    ran = frozenset((site.file, site.line) for site in (*histories, *standing) if site.file in found)
    pairs = {pair for stack in stacks for pair in itertools.pairwise(stack)}
    calls = frozenset(((caller.file, caller.line), (called.file, called.line)) for called, caller in pairs)
    graph = FlowGraph({file: tree for file, tree in found.items() if tree is not None}, ran, calls)
    return graph if len(graph.nodes) <= _MOST_NODES else None
