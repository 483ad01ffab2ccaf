"""Reachability across functions that respects calls: control returns from a function to where it was called.

In a graph of statements alone, a path could enter a helper from one caller and leave it to another. Here paths are
followed backward one function at a time: a call is passed by going through the function that it calls, and a function
that a rank is still in was entered from the line that its stack shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ddpdoctor.diagnose.divergence.cfg import FlowGraph
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind

_Back = Mapping[int, list[int]]


class Reachability:
    """Backward reachability in one graph."""

    def __init__(self, graph: FlowGraph) -> None:
        self._graph = graph
        self._before: dict[int, list[int]] = {}
        #: predecessors without exception edges
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
        """The targets, and all statements from which one can be reached without a trace in between.

        `callers`: the statements that called the targets' function, those that called that function, and so on.
        `calmly`: only paths on which nothing is raised.
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
        """Whether the path began in the function; its caller may be a library."""
        return self._graph.functions[self._graph.home[index]].entry in inside


class _Walk:
    """The backward search for one question."""

    def __init__(self, graph: FlowGraph, before: _Back, called: Mapping[int, set[int]], traced: frozenset[int]) -> None:
        self._graph = graph
        self._before = before
        self._called = called
        self._traced = traced
        self._call_of = {after: index for index, after in graph.after.items()}
        self._known: dict[int, frozenset[int]] = {}

    def within(self, start: int) -> frozenset[int]:
        """The statements that lead to this one in its own function, and in functions called on the way."""
        if start in self._known:
            return self._known[start]
        self._known[start] = frozenset()  # ends the recursion for a recursive function
        function = self._graph.home[start]
        found, todo = {start}, [start]
        while todo:
            index = todo.pop()
            for previous in self._before.get(index, ()):
                own = self._graph.home[previous] == function
                # a function that the statement calls twice has been gone through before
                if previous in self._traced or (own and previous in found):
                    continue
                if own:
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
        """The calls in the function through which another was entered; for an `after` node its own call."""
        call = self._call_of.get(index)
        for node in inside:
            for previous in self._before.get(node, ()):
                if self._graph.home[previous] == function and call in (None, previous):
                    yield previous

    def entered_from(self, inside: frozenset[int], function: int) -> Iterator[int]:
        """Statements of other functions that lead into this one without calling it."""
        home = self._graph.home
        for node in inside:
            if home[node] == function:
                for previous in self._before.get(node, ()):
                    if home[previous] != function and home[previous] not in self._called.get(function, ()):
                        yield previous
