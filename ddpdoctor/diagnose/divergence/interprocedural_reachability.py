"""Ways that respect calls: who enters a function leaves it to where it was called.

A graph of statements alone lets a way into a helper from one caller and out of it to another. Here ways are followed
back one function at a time: a call is passed by going through the function that it calls, and a function that a rank
still stands in was entered from the line that its stack shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ddpdoctor.diagnose.divergence.cfg import FlowGraph
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind

_Back = Mapping[int, list[int]]


class Reachability:
    """The ways back through one graph."""

    def __init__(self, graph: FlowGraph) -> None:
        self._graph = graph
        self._before: dict[int, list[int]] = {}
        #: without exceptions
        self._calmly: dict[int, list[int]] = {}
        called: dict[int, set[int]] = {}
        entries = {function.entry for function in graph.functions}
        for index, node in enumerate(graph.nodes):
            for edge in node.edges:
                self._before.setdefault(edge.target, []).append(index)
                if edge.kind is not EdgeKind.RAISED:
                    self._calmly.setdefault(edge.target, []).append(index)
                if edge.target in entries and graph.home[edge.target] != graph.home[index]:
                    called.setdefault(graph.home[index], set()).add(graph.home[edge.target])
        self._called = called

    def leading_to(
        self,
        targets: frozenset[int],
        traced: frozenset[int],
        callers: Sequence[frozenset[int]] = (),
        *,
        calmly: bool = False,
    ) -> frozenset[int]:
        """The targets, and all statements from which one is reached without a trace in between.

        `callers`: the statements that the targets' function was called by, those that called that, and so on.
        `calmly`: nothing is raised on the way.
        """
        walk = _Walk(self._graph, self._calmly if calmly else self._before, self._called, traced)
        todo = [(index, 0 if callers else -1) for index in targets]
        found, seen = set[int](), set(todo)
        while todo:
            index, level = todo.pop()
            inside = walk.within(index)
            found |= inside
            above: Iterable[int] = walk.entered_from(inside, self._graph.home[index])
            if level >= 0:
                above = callers[level] if any(True for _ in above) or self._is_entered(inside, index) else ()
            higher = level + 1 if 0 <= level < len(callers) - 1 else -1
            new = {(caller, higher) for caller in above if caller not in traced} - seen
            seen |= new
            todo.extend(new)
        return frozenset(found)

    def _is_entered(self, inside: frozenset[int], index: int) -> bool:
        """The way began in the function; who calls it may be a library."""
        return self._graph.functions[self._graph.home[index]].entry in inside


class _Walk:
    """One question's ways back."""

    def __init__(self, graph: FlowGraph, before: _Back, called: Mapping[int, set[int]], traced: frozenset[int]) -> None:
        self._graph = graph
        self._before = before
        self._called = called
        self._traced = traced
        self._call_of = {after: index for index, after in graph.after.items()}
        self._known: dict[int, frozenset[int]] = {}

    def within(self, start: int) -> frozenset[int]:
        """What leads to the statement in its own function, and in the functions that are called on the way."""
        if start in self._known:
            return self._known[start]
        self._known[start] = frozenset()  # for a function that comes back to itself
        function = self._graph.home[start]
        found, todo = {start}, [start]
        while todo:
            index = todo.pop()
            for previous in self._before.get(index, ()):
                if previous in self._traced or previous in found:
                    continue
                if self._graph.home[previous] == function:
                    found.add(previous)
                    todo.append(previous)
                elif self._graph.home[previous] in self._called.get(function, ()):
                    inside = self.within(previous)
                    calls = set(self._calls(index, inside, function)) - found - self._traced
                    found |= inside | calls
                    todo.extend(calls)
        self._known[start] = frozenset(found)
        return self._known[start]

    def _calls(self, index: int, inside: frozenset[int], function: int) -> Iterator[int]:
        """The calls in the function by which the inside of another was entered; of an `after` its own."""
        call = self._call_of.get(index)
        for node in inside:
            for previous in self._before.get(node, ()):
                if self._graph.home[previous] == function and call in (None, previous):
                    yield previous

    def entered_from(self, inside: frozenset[int], function: int) -> Iterator[int]:
        """Statements of other functions that lead into this one, and are not called by it."""
        home = self._graph.home
        for node in inside:
            if home[node] == function:
                for previous in self._before.get(node, ()):
                    if home[previous] != function and home[previous] not in self._called.get(function, ()):
                        yield previous
