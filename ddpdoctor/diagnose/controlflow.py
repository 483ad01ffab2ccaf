"""The control-flow diff: which condition sent one rank this way and the others that way.

Three places are known: the last thing that both sides did, what the one did next, and what the others did next. On its
way the one side came past a statement behind which there was no way any more to what the others did; the statements for
which this can be so are the only ones that can have parted them. Ways on which either side would have left another
trace in its history are no ways.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ddpdoctor.diagnose import frames, histories, syntax, wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.flowgraph import LOOPS, Edge, FlowGraph, Node, Way
from ddpdoctor.diagnose.histories import History, Parting, Step
from ddpdoctor.diagnose.rounds import same_everywhere
from ddpdoctor.diagnose.source import parsed
from ddpdoctor.diagnose.whereabouts import users_line
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site

#: Files and functions beyond which a program is not followed.
_MOST_FILES = 12
_MOST_NODES = 20_000


class Kind(Enum):
    """What decided."""

    #: an `if`, a `while`, a `match`
    CONDITION = "condition"
    #: a `for` over a range
    COUNT = "count"
    #: a `for` over anything else, which may have had less to give
    DATA = "data"
    #: something was raised, on a condition or out of the blue, and caught
    EXCEPTION = "exception"


@dataclass(frozen=True, slots=True)
class Choice:
    """One statement that can have parted the ranks, and how the actors went on from it."""

    kind: Kind
    way: Way
    #: the condition, the loop's head, or the `except`
    site: Site
    #: its text, as in `if batch is None`
    text: str
    #: the `continue`, `break`, `return` or `raise` that the actors then came to
    jump: Site | None = None
    jump_text: str = ""

    #: a loop whose rounds can all pass without a trace in the history
    idle: bool = False

    @property
    def enters(self) -> bool:
        """The branch of an `if` that does not jump: something was done there and then the common way taken up again."""
        return self.kind is Kind.CONDITION and self.way in (Way.YES, Way.NO) and self.jump is None

    @property
    def place(self) -> Site:
        """The line to show: the jump where there is one; of a loop that came to its end, its head."""
        return self.site if self.way is Way.END or self.jump is None else self.jump


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
    traced = [frozenset(n for site in side for n in graph.done(graph.at(site.file, site.line))) for side in seen]
    found = _Search(graph, traced[0], traced[1]).choices(facts.evidence.code, before, act, instead)
    if found:
        return found
    # a loop over something around a loader (islice, zip) may end without a trace of it
    loops = frozenset(n for side in traced for n in side if isinstance(graph.nodes[n].stmt, LOOPS))
    return _Search(graph, traced[0] - loops, traced[1] - loops).choices(facts.evidence.code, before, act, instead)


def _by_user(facts: Facts, ranks: RankSet, step: Step | None) -> Step | None:
    """The step at the user's line where a library made it, if a rank still stands there."""
    return replace(step, site=users_line(facts, ranks, step.site)) if step and step.site else step


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
            on = edge.way is not Way.RAISED and not graph.goes_round(index, edge.target)
            if on and edge.target not in found:
                found.add(edge.target)
                todo.append(edge.target)
    return bool(targets & (found - start))


@functools.lru_cache(maxsize=4)
def _graph(facts: Facts, files: tuple[str, ...]) -> FlowGraph | None:
    """The ways through those of the files that are the user's; None where they are too many."""
    own = [file for file in files if not frames.is_library(file)][:_MOST_FILES]
    found = {file: parsed(facts.evidence.code, file) for file in own}
    graph = FlowGraph({file: tree for file, tree in found.items() if tree is not None})
    return graph if len(graph.nodes) <= _MOST_NODES else None


class _Search:
    """Ways from the last common step to what either side did next."""

    def __init__(self, graph: FlowGraph, left: frozenset[int], right: frozenset[int]) -> None:
        self.graph = graph
        #: nodes that leave a trace in the actors' or the others' history: no way of theirs leads through them unseen
        self.traced = (left, right)
        self.before: dict[int, list[int]] = {}
        for index, node in enumerate(graph.nodes):
            for edge in node.edges:
                self.before.setdefault(edge.target, []).append(index)

    def choices(self, code: Mapping[str, SourceFile], before: Step, act: Step, instead: Step) -> tuple[Choice, ...]:
        start = self._nodes(before) | self.graph.done(self._nodes(before))
        left, right = self.graph.done(self._nodes(act)), self.graph.done(self._nodes(instead))
        if not (start and left and right):
            return ()
        leads_left = self._leading_to(left, self.traced[0])
        leads_right = self._leading_to(right, self.traced[1])
        onward = {index: self._onward(index, before, instead) for index in start}
        reached = self._reached(start, onward)
        found: dict[tuple[object, ...], Choice] = {}
        passed = reached - (self.traced[0] | self.traced[1]) | start
        for index in sorted(passed, key=lambda n: (self.graph.nodes[n].file, self.graph.nodes[n].first)):
            edges = onward.get(index, self.graph.nodes[index].edges)
            stays = index in right or (index in start and _in_one_statement(before, instead, start & right))
            for edge in self._parting_edges(edges, leads_left, leads_right, stays=stays):
                choice = self._choice(code, index, edge, leads_left)
                # conditions around one jump are one choice; the innermost is shown
                found[(choice.jump or choice.site, choice.way is Way.RAISED)] = choice
        return tuple(choice for choice in found.values() if not _is_same_for_all(code, choice))

    def _nodes(self, step: Step) -> frozenset[int]:
        return self.graph.at(step.site.file, step.site.line) if step.site else frozenset()

    def _onward(self, index: int, before: Step, instead: Step) -> list[Edge]:
        """How the last common step was left: an iterator either delivered or ended."""
        edges = self.graph.nodes[index].edges
        if before.kind is EventKind.NEXT:
            rounds = [edge for edge in edges if edge.way is Way.ROUND]
            return rounds or edges
        if before.kind is EventKind.STOP_ITERATION:
            # loaders that look ahead tell of the end while the last batch is still to be used
            ends = [edge for edge in edges if edge.way is Way.END]
            ahead = instead.kind in (EventKind.FORWARD, EventKind.FORWARD_NO_SYNC, EventKind.BACKWARD)
            return edges if ahead or not ends else ends
        if _in_one_statement(before, instead, self._nodes(before) & self._nodes(instead)):
            return [edge for edge in edges if edge.way is Way.RAISED]
        return edges

    def _leading_to(self, targets: frozenset[int], traced: frozenset[int]) -> frozenset[int]:
        """The targets, and all nodes from which one is reached without a trace in between."""
        found, todo = set(targets), list(targets)
        while todo:
            for index in self.before.get(todo.pop(), ()):
                if index not in found and index not in traced:
                    found.add(index)
                    todo.append(index)
        return frozenset(found)

    def _reached(self, start: frozenset[int], onward: Mapping[int, list[Edge]]) -> set[int]:
        found, todo, traced = set(start), list(start), self.traced[0] & self.traced[1]
        while todo:
            index = todo.pop()
            for edge in onward.get(index, self.graph.nodes[index].edges):
                if edge.target not in found and edge.target not in traced:
                    found.add(edge.target)
                    todo.append(edge.target)
        return found

    def _parting_edges(
        self, edges: list[Edge], left: frozenset[int], right: frozenset[int], *, stays: bool
    ) -> list[Edge]:
        """Edges on which the actors can have gone on, and behind which there is no way to what the others did."""
        if not stays and not any(edge.target in right for edge in edges):
            return []
        return [edge for edge in edges if edge.target in left and edge.target not in right]

    def _choice(self, code: Mapping[str, SourceFile], index: int, edge: Edge, leads: frozenset[int]) -> Choice:
        caught = self._handler(edge.target, leads) if edge.way is Way.RAISED else index
        node = self.graph.nodes[caught]
        jump = self._jump(caught if edge.way is Way.RAISED else edge.target)
        return Choice(
            _kind(node.stmt, jump.stmt if jump else None, edge.way),
            edge.way,
            Site(node.file, node.first, node.function),
            _text(code, node.file, node.first),
            Site(jump.file, jump.first, jump.function) if jump else None,
            _text(code, jump.file, jump.first) if jump else "",
            self._idles(index),
        )

    def _idles(self, loop: int) -> bool:
        """From the loop's head a way leads back to it that leaves no trace."""
        rounds = [edge.target for edge in self.graph.nodes[loop].edges if edge.way is Way.ROUND]
        seen = self._leading_to(frozenset({loop}), self.traced[0])
        return any(target in seen for target in rounds)

    def _handler(self, index: int, leads: frozenset[int]) -> int:
        """Where an exception that leaves functions is caught in the end."""
        for _ in range(64):
            if self.graph.nodes[index].stmt is not None:
                break
            index = next((e.target for e in self.graph.nodes[index].edges if e.target in leads), index)
        return index

    def _jump(self, index: int) -> Node | None:
        """The jump that a way comes to with nothing else to choose in between."""
        for _ in range(64):
            node = self.graph.nodes[index]
            if isinstance(node.stmt, (ast.Continue, ast.Break, ast.Return, ast.Raise)):
                return node
            ways = [edge for edge in node.edges if edge.way is not Way.RAISED]
            if len(ways) != 1 or node.stmt is None or index in self.traced[0] or index in self.graph.after:
                return None
            index = ways[0].target
        return None


def _in_one_statement(before: Step, instead: Step, shared: frozenset[int]) -> bool:
    """Both are done by one statement, as in `model(batch).sum().backward()`."""
    return bool(shared) and before.kind is not instead.kind


def _kind(stmt: ast.AST | None, jump: ast.AST | None, way: Way) -> Kind:
    if way is Way.RAISED or isinstance(jump, ast.Raise):
        return Kind.EXCEPTION
    if isinstance(stmt, (ast.For, ast.AsyncFor)):
        counts = isinstance(stmt.iter, ast.Call) and syntax.names_called(stmt.iter)[0] == "range"
        return Kind.COUNT if counts else Kind.DATA
    return Kind.CONDITION


def _is_same_for_all(code: Mapping[str, SourceFile], choice: Choice) -> bool:
    """A loop's end that all ranks come to after as many rounds."""
    return choice.way in (Way.ROUND, Way.END) and same_everywhere(code, choice.site)


def _text(code: Mapping[str, SourceFile], file: str, line: int) -> str:
    source = code.get(file)
    lines = source.text.splitlines() if source and not source.changed else []
    index = line - source.first if source else -1
    return lines[index].strip().rstrip(":") if 0 <= index < len(lines) else ""
