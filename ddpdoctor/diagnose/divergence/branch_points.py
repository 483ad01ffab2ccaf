"""Branch points: statements from which one side reached its next call, and could no longer reach the other side's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.divergence import statements
from ddpdoctor.diagnose.divergence.cfg import FlowGraph
from ddpdoctor.diagnose.divergence.cfg_model import Edge, EdgeKind, Node
from ddpdoctor.diagnose.divergence.interprocedural_reachability import Reachability
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.enclosing import LOOPS
from ddpdoctor.program.program import Program


class BranchKind(Enum):
    """What kind of statement decided."""

    #: an `if`, a `while`, a `match`
    CONDITION = "condition"
    #: a `for` over a range
    COUNT = "count"
    #: a `for` over anything else, which may have yielded fewer items
    DATA = "data"
    #: an exception was raised, conditionally or unexpectedly, and caught
    EXCEPTION = "exception"
    #: a call in which a library runs the job's loop has returned
    RETURN = "return"
    #: a call in which a library called the job's code, or did not
    CALLBACK = "callback"


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """One statement at which the ranks may have diverged, and the branch that the odd ranks took."""

    kind: BranchKind
    #: the edge that the odd ranks took from it
    taken: EdgeKind
    #: the condition, the loop's head, or the `except`
    site: Site
    #: its text, as in `if batch is None`
    text: str
    #: the `continue`, `break`, `return` or `raise` that the odd ranks then reached
    jump: Site | None = None
    jump_text: str = ""

    #: a loop whose iterations can all pass without a trace in the history
    idle: bool = False
    #: the job's own line to show instead: the one that sets what a library tests, or the one that runs the library
    shown: Site | None = None
    #: what that line sets
    sets: str = ""
    #: the condition of the library that tests it
    tested: Site | None = None
    tested_text: str = ""

    @property
    def enters(self) -> bool:
        """Whether the odd ranks took a branch of an `if` that does not jump and so rejoins the common path; or a
        library called them back."""
        if self.kind is BranchKind.CALLBACK:
            return True
        return self.kind is BranchKind.CONDITION and self.taken in (EdgeKind.YES, EdgeKind.NO) and self.jump is None

    @property
    def place(self) -> Site:
        """The line to show: the jump if there is one; the head of a loop that ended."""
        if self.shown is not None:
            return self.shown
        return self.site if self.taken is EdgeKind.END or self.jump is None else self.jump


class Search:
    """A search for paths from the last common step to each side's next step."""

    def __init__(
        self,
        graph: FlowGraph,
        left: frozenset[int],
        right: frozenset[int],
        alike: Callable[[Site], bool],
        callers: Sequence[frozenset[int]] = (),
    ) -> None:
        """`alike`: whether the loop or condition that begins on a line is decided equally on all ranks.

        `callers`: who called the function that the odd ranks are in now, from their stack.
        """
        self.graph = graph
        self._back = Reachability(graph)
        self._alike = alike
        self._callers = callers
        #: nodes that leave a trace in the odd or the reference ranks' history: a path of that side through one would
        #: show there
        self.traced = (left, right)

    def branch_points(
        self,
        program: Program,
        before: HistoryStep,
        odd_next: HistoryStep | None,
        reference_next: HistoryStep,
        ends: frozenset[int] = frozenset(),
    ) -> tuple[BranchPoint, ...]:
        """`ends`: where the odd ranks came to, if they have no next step."""
        start = self._nodes(before) | self.graph.did(self._nodes(before))
        left = self.graph.did(self._nodes(odd_next)) if odd_next is not None else ends
        right = self.graph.did(self._nodes(reference_next))
        if not (start and left and right):
            return ()
        leads_left = self._back.leading_to(left, self.traced[0], self._callers)
        leads_right = self._back.leading_to(right, self.traced[1])
        calmly = self._back.leading_to(right, self.traced[1], calmly=True)
        onward = {index: self._onward(index, before, reference_next) for index in start}
        reached = self._reached(start, onward)
        found: dict[tuple[object, ...], BranchPoint] = {}
        passed = reached - (self.traced[0] | self.traced[1]) | start
        for index in sorted(passed, key=lambda n: (self.graph.nodes[n].file, self.graph.nodes[n].first)):
            edges = onward.get(index, self.graph.nodes[index].edges)
            stays = index in right or (index in start and _in_one_statement(before, reference_next, start & right))
            if not stays and not any(edge.target in calmly for edge in edges):
                continue  # only an exception leads to the reference ranks' step, so it made the ranks diverge
            for edge in self._parting_edges(index, edges, leads_left, leads_right, calls=index in right):
                point = self._branch_point(
                    program, index, self._named(index, edge, odd_next, reference_next), leads_left
                )
                # conditions around one jump are one choice; the innermost is shown
                found[(point.jump or point.site, point.taken is EdgeKind.RAISED)] = point
        points = [point for point in found.values() if not (_at_loop_head(point) and self._alike(point.site))]
        # a condition on something equal on all ranks is no branch point if another statement may be one
        own = [point for point in points if point.kind is not BranchKind.CONDITION or not self._alike(point.site)]
        if own or not points:
            return tuple(own)
        return tuple(self._callbacks(program, reached, leads_left, leads_right) or points)

    def _callbacks(
        self, program: Program, reached: set[int], left: frozenset[int], right: frozenset[int]
    ) -> list[BranchPoint]:
        """Calls in which a library may call the job's code or not, where only the first leads to the odd ranks' step
        (formatting an argument of a log message, a hook): there are conditions behind it, and all ranks decide them
        alike."""
        found = []
        for index in sorted(reached & self.graph.seen_after.keys()):
            node, after = self.graph.nodes[index], self.graph.seen_after[index]
            called = [edge for edge in node.edges if edge.kind is EdgeKind.ON and edge.target != after]
            if any(edge.target in left for edge in called) and after in right and after not in left:
                site = Site(node.file, node.first, node.function)
                text = _text(program, node.file, node.first)
                found.append(BranchPoint(BranchKind.CALLBACK, EdgeKind.ON, site, text))
        return found

    def _nodes(self, step: HistoryStep) -> frozenset[int]:
        return self.graph.at(step.site.file, step.site.line) if step.site else frozenset()

    def _onward(self, index: int, before: HistoryStep, reference_next: HistoryStep) -> list[Edge]:
        """The edges out of the last common step: an iterator either delivered or ended."""
        edges = self.graph.nodes[index].edges
        if before.kind is EventKind.NEXT:
            rounds = [edge for edge in edges if edge.kind is EdgeKind.ROUND]
            return rounds or edges
        if before.kind is EventKind.STOP_ITERATION:
            # prefetching loaders report the end while the last batch is still to be used
            ends = [edge for edge in edges if edge.kind is EdgeKind.END]
            ahead = reference_next.kind in (EventKind.FORWARD, EventKind.FORWARD_NO_SYNC, EventKind.BACKWARD)
            return edges if ahead or not ends else ends
        if _in_one_statement(before, reference_next, self._nodes(before) & self._nodes(reference_next)):
            return [edge for edge in edges if edge.kind is EdgeKind.RAISED]
        return edges

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
        self, index: int, edges: list[Edge], left: frozenset[int], right: frozenset[int], *, calls: bool
    ) -> list[Edge]:
        """Edges that the odd ranks can have taken, and from which no path leads to the reference ranks' step. `calls`:
        whether the statement itself makes that step."""
        # calls and returns are not choices of the program, but whether a part of an expression is evaluated is one
        optional = self.graph.short_circuits(index) and (calls or index in self.graph.seen_after)
        chooses = optional or isinstance(self.graph.nodes[index].stmt, LOOPS)
        chosen = [edge for edge in edges if edge.kind is not EdgeKind.ON or chooses]
        return [edge for edge in chosen if edge.target in left and edge.target not in right]

    def _branch_point(self, program: Program, index: int, edge: Edge, leads: frozenset[int]) -> BranchPoint:
        caught = self._handler(edge.target, leads) if edge.kind is EdgeKind.RAISED else index
        node = self.graph.nodes[caught]
        jump = self._jump(caught if edge.kind is EdgeKind.RAISED else edge.target)
        return BranchPoint(
            _kind(node.stmt, jump.stmt if jump else None, edge.kind),
            edge.kind,
            Site(node.file, node.first, node.function),
            _text(program, node.file, node.first),
            Site(jump.file, jump.first, jump.function) if jump else None,
            _text(program, jump.file, jump.first) if jump else "",
            self._idles(index),
        )

    def _named(self, index: int, edge: Edge, odd_next: HistoryStep | None, reference_next: HistoryStep) -> Edge:
        """A loop over a generator continues inside it: the call sites tell whether this is another iteration or the
        end.
        """
        loop = self.graph.nodes[index]
        if edge.kind is not EdgeKind.ON or not isinstance(loop.stmt, LOOPS):
            return edge
        lines = range(loop.first, (loop.stmt.end_lineno or loop.first) + 1)
        inside = [
            bool(s and s.site and s.site.file == loop.file and s.site.line in lines) for s in (odd_next, reference_next)
        ]
        if inside[0] == inside[1]:
            return edge
        return replace(edge, kind=EdgeKind.ROUND if inside[0] else EdgeKind.END)

    def _idles(self, loop: int) -> bool:
        """Whether a path leads from the loop's head back to it without a trace."""
        edges = [edge for edge in self.graph.nodes[loop].edges if edge.kind is not EdgeKind.RAISED]
        # over a generator, it goes on to the generator's own code, which is not told apart from its end
        rounds = [edge.target for edge in edges if edge.kind is EdgeKind.ROUND or len(edges) == 1]
        seen = self._back.leading_to(frozenset({loop}), self.traced[0])
        return any(target in seen for target in rounds)

    def _handler(self, index: int, leads: frozenset[int]) -> int:
        """Where an exception that leaves its functions is finally caught."""
        for _ in range(64):
            if self.graph.nodes[index].stmt is not None:
                break
            index = next((e.target for e in self.graph.nodes[index].edges if e.target in leads), index)
        return index

    def _jump(self, index: int) -> Node | None:
        """The jump that a path reaches without another choice in between."""
        for _ in range(64):
            node = self.graph.nodes[index]
            if isinstance(node.stmt, (ast.Continue, ast.Break, ast.Return, ast.Raise)):
                return node
            ways = [edge for edge in node.edges if edge.kind is not EdgeKind.RAISED]
            if len(ways) != 1 or node.stmt is None or index in self.traced[0] or index in self.graph.after:
                return None
            index = ways[0].target
        return None


def _in_one_statement(before: HistoryStep, reference_next: HistoryStep, shared: frozenset[int]) -> bool:
    """Whether one statement makes both calls in this order, as in `model(batch).sum().backward()`."""
    order = (EventKind.NEXT, EventKind.FORWARD, EventKind.FORWARD_NO_SYNC, EventKind.BACKWARD, EventKind.OPTIMIZER_STEP)
    if not shared or before.kind is reference_next.kind:
        return False
    return not (
        before.kind in order
        and reference_next.kind in order
        and order.index(before.kind) > order.index(reference_next.kind)
    )


def _kind(stmt: ast.AST | None, jump: ast.AST | None, way: EdgeKind) -> BranchKind:
    if way is EdgeKind.RAISED or isinstance(jump, ast.Raise):
        return BranchKind.EXCEPTION
    if isinstance(stmt, ast.While) and _fetches(stmt.test):
        return BranchKind.DATA
    if isinstance(stmt, (ast.For, ast.AsyncFor)):
        counts = isinstance(stmt.iter, ast.Call) and statements.names_called(stmt.iter)[0] == "range"
        return BranchKind.COUNT if counts else BranchKind.DATA
    return BranchKind.CONDITION


def _fetches(test: ast.expr) -> bool:
    """Whether the loop continues as long as something is delivered: `while chunk := list(islice(rows, 8))`."""
    return isinstance(test, ast.NamedExpr) and isinstance(test.value, ast.Call)


def _at_loop_head(point: BranchPoint) -> bool:
    """Whether it is a loop's next iteration or its end: ranks reach that together if they make as many iterations."""
    return point.taken in (EdgeKind.ROUND, EdgeKind.END)


def _text(program: Program, file: str, line: int) -> str:
    return program.statement_text(file, line)
