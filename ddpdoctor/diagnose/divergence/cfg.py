"""The control-flow graph of a program's source: statements are nodes, and edges lead to what may follow each.

A call of a function in the given files is joined with that function if only one of them has this name. So are
`self.name()`, with the method of the same class, and a method of an object whose class is evident, `__call__` among
them. A `for` over a generator among them goes through its `yield`. Any other call is one step. Every statement may
raise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ddpdoctor.diagnose.divergence import statements
from ddpdoctor.diagnose.divergence.cfg_model import (
    Edge,
    EdgeKind,
    FunctionNodes,
    KnownFunctions,
    Node,
    of_class,
    told_apart,
)
from ddpdoctor.diagnose.divergence.swallowing import Swallowing
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.enclosing import FUNCTIONS, LOOPS
from ddpdoctor.program.modules import Module

#: a file and a line number
Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a statement's jumps lead."""

    file: str
    function: str
    owner: str
    exit: int
    #: handlers around it, innermost first, then the exceptional exit of the function
    raised: tuple[int, ...]
    home: int
    again: int = -1
    out: int = -1


class FlowGraph:
    """The control-flow graph of a few files."""

    def __init__(
        self,
        modules: Mapping[str, Module],
        ran: frozenset[tuple[str, int]] = frozenset(),
        calls: frozenset[tuple[Line, Line]] = frozenset(),
        only: frozenset[Line] | None = None,
        swallowing: Swallowing | None = None,
    ) -> None:
        """`only`: leave out functions that contain none of these lines, and join calls by `calls` alone.

        `ran`: lines that were seen to run; they tell which of several functions of one name is meant.

        `calls`: lines that were seen to call, directly or through a library, with the lines they called.

        `swallowing`: of the program's context managers, of which other files may have some; of these files by default.
        """
        self.files = frozenset(modules)
        self._modules = modules
        self._swallowing = swallowing or Swallowing(modules.values())
        self.nodes: list[Node] = []
        self.functions: list[FunctionNodes] = []
        #: the number of the function that each node is in
        self.home: list[int] = []
        #: a statement that calls one of the functions -> the node for the rest of it after the call
        self.after: dict[int, int] = {}
        #: the same for calls that only a stack or a path shows: the statement did its own part before the call or after
        self.seen_after: dict[int, int] = {}
        methods: dict[tuple[str, str, str], FunctionNodes] = {}
        for file, module in modules.items():
            if only is None:
                self._function(file, "<module>", "", module.tree.body)
            for owner, node in statements.functions(module.tree):
                if only is None or _runs(file, node, only):
                    methods[file, owner, node.name] = made = self._function(file, node.name, owner, node.body)
                    made.ran = _runs(file, node, ran)
                    made.name = node.name
        if only is None:
            self._join_by_name(methods)
        for caller, called in sorted(calls):
            self._join_seen(caller, called, always=only is not None)

    def _join_by_name(self, methods: Mapping[tuple[str, str, str], FunctionNodes]) -> None:
        named: dict[str, list[FunctionNodes]] = {}
        for function in self.functions:
            if function.name:
                named.setdefault(function.name, []).append(function)
        seen = [function for function in self.functions if function.ran]
        imported = {file: statements.origins(module) for file, module in self._modules.items()}
        objects = statements.objects(self._modules.values())
        known = KnownFunctions(told_apart(named, seen), methods, imported, objects, of_class(methods))
        for index in range(len(self.nodes)):
            self._join(index, known)

    def at(self, file: str, line: int) -> frozenset[int]:
        """The statement on a line; if several, the first: a statement's head rather than its body."""
        found = [n for n, node in enumerate(self.nodes) if node.file == file and node.first <= line <= node.last]

        def order(index: int) -> tuple[int, int]:
            node = self.nodes[index]
            return node.last - node.first, int(getattr(node.stmt, "col_offset", 0))

        best = min(map(order, found), default=(0, 0))
        return frozenset(n for n in found if order(n) == best)

    def calling(self, caller: Site, called: Site) -> frozenset[int]:
        """The statement on the caller's line where it calls the function of the other line: it may call several."""
        nodes = self.at(caller.file, caller.line)
        entries = {self.functions[self.home[node]].entry for node in self.at(called.file, called.line)}
        steps = {step for node in nodes for step in self._in_turn(node)}
        return frozenset(n for n in steps if any(e.target in entries for e in self.nodes[n].edges)) or nodes

    def done(self, nodes: frozenset[int]) -> frozenset[int]:
        """The same statements, after the functions that they call have returned."""
        return frozenset(self._in_turn(node)[-1] for node in nodes)

    def _in_turn(self, node: int) -> list[int]:
        """The statement before its first call, and after each."""
        found = [node]
        while found[-1] in self.after:
            found.append(self.after[found[-1]])
        return found

    def did(self, nodes: frozenset[int]) -> frozenset[int]:
        """Where the statements may have been when they did what was recorded of them."""
        return self.done(nodes) | {self.seen_after[node] for node in nodes if node in self.seen_after}

    def collectives(self) -> frozenset[int]:
        """Statements that issue a collective of the default group by torch's own name: passing one always leaves a
        trace.
        """
        return frozenset(
            n for n, node in enumerate(self.nodes) if statements.issues(node.stmt, self._modules[node.file])
        )

    def short_circuits(self, index: int) -> bool:
        """Whether the statement may leave out a call that stands in it."""
        return statements.short_circuits(self.nodes[index].stmt)

    def goes_round(self, index: int, target: int) -> bool:
        """Whether the edge leads from inside a loop back to its head."""
        node, head = self.nodes[index], self.nodes[target]
        if not isinstance(head.stmt, LOOPS) or node.stmt is head.stmt or node.file != head.file:
            return False
        return head.stmt.lineno <= node.first <= (head.stmt.end_lineno or head.stmt.lineno)

    def in_this_round(self, index: int, target: int) -> Iterator[int]:
        """Where the edge leads without another iteration of any loop: where a loop ends instead, and the loops around
        it.
        """
        if not self.goes_round(index, target):
            yield target
            return
        for edge in self.nodes[target].edges:
            if edge.kind is EdgeKind.END:
                yield from self.in_this_round(target, edge.target)

    def _function(self, file: str, name: str, owner: str, body: list[ast.stmt]) -> FunctionNodes:
        scope = _Scope(file, name, owner, -1, (), len(self.functions))
        end, fell, raised = (self._node(scope, None) for _ in range(3))
        self.nodes[fell].edges.append(Edge(end, EdgeKind.ON))
        made = FunctionNodes(file, -1, end, raised, bool(owner))
        self.functions.append(made)
        first = len(self.nodes)
        made.entry = self._block(body, fell, replace(scope, exit=end, raised=(raised,)))
        inside = range(first, len(self.nodes))
        made.yields = [n for n in inside if statements.yields(self.nodes[n].stmt)]
        made.constant = {n: value for n in inside if (value := statements.returned(self.nodes[n].stmt)) is not None}
        made.constant[fell] = False
        return made

    def _node(self, scope: _Scope, stmt: ast.AST | None) -> int:
        first, last = statements.lines_of(stmt)
        self.nodes.append(Node(scope.file, scope.function, stmt, first, last, scope.owner))
        self.home.append(scope.home)
        return len(self.nodes) - 1

    def _aside(self, index: int, follow: int) -> int:
        """A second node of a statement, not found by its line."""
        node = self.nodes[index]
        edges = [Edge(follow, EdgeKind.ON)]
        self.nodes.append(Node(node.file, node.function, node.stmt, node.first, -1, node.owner, edges))
        self.home.append(self.home[index])
        return len(self.nodes) - 1

    def _block(self, body: list[ast.stmt], follow: int, scope: _Scope) -> int:
        """The first node of the block; `follow` comes after the block."""
        for stmt in reversed(body):
            follow = self._statement(stmt, follow, scope)
        return follow

    def _statement(self, stmt: ast.stmt, follow: int, scope: _Scope) -> int:
        if isinstance(stmt, ast.Try):
            return self._try(stmt, follow, scope)
        index = self._node(scope, stmt)
        self.nodes[index].edges.extend(self._ways(stmt, index, follow, scope))
        if not isinstance(stmt, (ast.Break, ast.Continue, ast.Pass, *FUNCTIONS, ast.ClassDef)):
            self.nodes[index].edges.extend(Edge(target, EdgeKind.RAISED) for target in scope.raised)
        return index

    def _ways(self, stmt: ast.stmt, index: int, follow: int, scope: _Scope) -> list[Edge]:
        match stmt:
            case ast.Return():
                return [Edge(scope.exit, EdgeKind.ON)]
            case ast.Break():
                return [Edge(scope.out, EdgeKind.ON)]
            case ast.Continue():
                return [Edge(scope.again, EdgeKind.ON)]
            case ast.Raise():
                return []
            case ast.If():
                held, failed = self._block(stmt.body, follow, scope), self._block(stmt.orelse, follow, scope)
                return [Edge(held, EdgeKind.YES), Edge(failed, EdgeKind.NO)]
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(stmt, index, follow, scope)
            case ast.With() | ast.AsyncWith():
                inner = (
                    replace(scope, raised=(self._aside(index, follow), *scope.raised))
                    if self._swallowing.ends_at(stmt)
                    else scope
                )
                return [Edge(self._block(stmt.body, follow, inner), EdgeKind.ON)]
            case ast.Match():
                cases = [Edge(self._block(case.body, follow, scope), EdgeKind.YES) for case in stmt.cases]
                return cases if statements.takes_all(stmt.cases[-1]) else [*cases, Edge(follow, EdgeKind.NO)]
        return [Edge(follow, EdgeKind.ON)]

    def _loop(self, stmt: ast.For | ast.AsyncFor | ast.While, index: int, follow: int, scope: _Scope) -> list[Edge]:
        inner = replace(scope, again=index, out=follow)
        again = Edge(self._block(stmt.body, index, inner), EdgeKind.ROUND)
        if isinstance(stmt, ast.While) and isinstance(stmt.test, ast.Constant) and stmt.test.value:
            return [again]
        return [again, Edge(self._block(stmt.orelse, follow, scope), EdgeKind.END)]

    def _try(self, stmt: ast.Try, follow: int, scope: _Scope) -> int:
        last = self._block(stmt.finalbody, follow, scope)
        handlers = []
        for handler in stmt.handlers:
            index = self._node(scope, handler)
            self.nodes[index].edges.append(Edge(self._block(handler.body, last, scope), EdgeKind.ON))
            handlers.append(index)
        catches_all = any(handler.type is None for handler in stmt.handlers)
        raised = tuple(handlers) if catches_all else (*handlers, *scope.raised)
        return self._block(stmt.body, self._block(stmt.orelse, last, scope), replace(scope, raised=raised))

    def _join(self, index: int, known: KnownFunctions) -> None:
        """Route the edges of a statement through the function that it calls."""
        node = self.nodes[index]
        calls = known.calls(node)
        if not calls:
            return
        called = calls[0]
        ways, raised = _split(node.edges)
        if called.yields and isinstance(node.stmt, (ast.For, ast.AsyncFor)):
            self._through_generator(node, called, ways, raised)
            return
        if called.yields or isinstance(node.stmt, (ast.For, ast.AsyncFor)):
            return  # a generator does not run when it is called; an iterator is created before the loop's iterations
        if known.may_be_left_out(node, called):
            self._join_one(index, called, always=False)
            return
        # each call returns to where the next one begins
        for number, called in enumerate(calls):
            after = self._aside(index, -1)
            if number == len(calls) - 1:
                self.nodes[after].edges = [*ways, *raised]
                self._return_to(after, called)
            else:
                self.nodes[called.exit].edges.append(Edge(after, EdgeKind.ON))
            self.after[index] = after
            self.nodes[called.raised].edges.extend(raised)
            self.nodes[index].edges = [Edge(called.entry, EdgeKind.ON), *raised]
            index = after

    def _join_seen(self, caller: Line, line: Line, *, always: bool) -> None:
        """Join a call that no name resolves (an overriding method, a library's hook), because a stack has shown it.

        `always`: the statement calls nothing else of the graph, so it is not passed without the call.
        """
        inside = {self.home[n] for n in self.at(*line) if self.nodes[n].function != "<module>"}
        for index in self.at(*caller):
            for called in (self.functions[number] for number in inside):
                joined = any(edge.target == called.entry for edge in self.nodes[index].edges)
                if not (joined or called.yields or isinstance(self.nodes[index].stmt, LOOPS)):
                    self._join_one(index, called, always=always)

    def _join_one(self, index: int, called: FunctionNodes, *, always: bool) -> None:
        node = self.nodes[index]
        ways, raised = _split(node.edges)
        if index in self.after:
            after = self.after[index]
        elif always and index in self.seen_after:
            after = self.seen_after[index]
            self.nodes[after].edges.append(Edge(called.entry, EdgeKind.ON))  # it may call one after the other
        else:
            after = self.seen_after[index] = self._aside(index, -1)
            self.nodes[after].edges = [*ways, *raised]
            ways = [] if always else [Edge(after, EdgeKind.ON)]
        node.edges = [Edge(called.entry, EdgeKind.ON), *ways, *raised]
        self._return_to(after, called)
        self.nodes[called.raised].edges.extend(raised)

    def _return_to(self, after: int, called: FunctionNodes) -> None:
        """If a known value returns to a condition, only the matching branch follows."""
        self.nodes[called.exit].edges.append(Edge(after, EdgeKind.ON))
        branches = self._branches(after)
        for index, value in called.constant.items():
            edges = [edge for edge in self.nodes[index].edges if edge.target != called.exit]
            self.nodes[index].edges = [*edges, Edge(branches.get(value, after), EdgeKind.ON)]

    def _branches(self, after: int) -> dict[bool, int]:
        """Where the caller continues for a true and for a false result of its call; empty if it tests neither."""
        node = self.nodes[after]
        name = ""
        if isinstance(node.stmt, ast.Assign) and isinstance(node.stmt.targets[0], ast.Name) and node.edges:
            name, node = node.stmt.targets[0].id, self.nodes[node.edges[0].target]
        if not isinstance(node.stmt, ast.If):
            return {}
        test, wanted = node.stmt.test, True
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, wanted = test.operand, False
        if not (isinstance(test, ast.Name) and test.id == name) and not (isinstance(test, ast.Call) and not name):
            return {}
        targets = {edge.kind: edge.target for edge in node.edges}
        return {wanted: targets[EdgeKind.YES], not wanted: targets[EdgeKind.NO]}

    def _through_generator(self, node: Node, called: FunctionNodes, ways: list[Edge], raised: list[Edge]) -> None:
        """Each iteration runs the generator up to a `yield`; the loop ends when the generator ends."""
        if not called.resumed:
            for index in called.yields:
                self._suspend(index, called)
        node.edges = [Edge(called.entry, EdgeKind.ON), *called.resumed, *raised]
        rounds = [edge for edge in ways if edge.kind is EdgeKind.ROUND]
        for index in called.yields:
            self.nodes[index].edges.extend(rounds)
        ends = [Edge(edge.target, EdgeKind.ON) for edge in ways if edge.kind is EdgeKind.END]
        self.nodes[called.exit].edges.extend(ends)
        self.nodes[called.raised].edges.extend(raised)

    def _suspend(self, index: int, generator: FunctionNodes) -> None:
        """After a `yield`, the generator continues only if the consumer asks for more; `yield from` also continues by
        itself.
        """
        yielding = self.nodes[index]
        ways, failed = _split(yielding.edges)
        if statements.yields_all(yielding.stmt):
            generator.resumed.append(Edge(index, EdgeKind.ON))
            yielding.edges = [*(Edge(edge.target, EdgeKind.END) for edge in ways), *failed]
        else:
            generator.resumed.extend(ways)
            yielding.edges = failed


def _runs(file: str, node: ast.FunctionDef | ast.AsyncFunctionDef, lines: frozenset[Line]) -> bool:
    """Whether one of the lines is in the function."""
    return any((file, line) in lines for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _split(edges: Iterable[Edge]) -> tuple[list[Edge], list[Edge]]:
    every = list(edges)
    return [e for e in every if e.kind is not EdgeKind.RAISED], [e for e in every if e.kind is EdgeKind.RAISED]
