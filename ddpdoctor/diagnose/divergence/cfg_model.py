"""Elements of the control-flow graph: statements, kinds of edges, functions by name."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath

from ddpdoctor.diagnose.divergence import statements


class EdgeKind(Enum):
    """How control leaves a statement."""

    ON = "on"
    #: the condition holds
    YES = "yes"
    NO = "no"
    #: a loop's next iteration, and its end
    ROUND = "round"
    END = "end"
    RAISED = "raised"


@dataclass(frozen=True, slots=True)
class Edge:
    target: int
    kind: EdgeKind


@dataclass(slots=True)
class Node:
    """One statement; for a compound statement its head."""

    file: str
    function: str
    stmt: ast.AST | None
    #: lines of the statement or its head, both ends included
    first: int
    last: int
    #: the class of the method that it is in, "" outside classes
    owner: str = ""
    edges: list[Edge] = field(default_factory=list)


@dataclass(slots=True)
class FunctionNodes:
    file: str
    entry: int
    exit: int
    raised: int
    #: called on an object
    method: bool = False
    #: nodes of `yield` statements, with the nodes that follow when the consumer asks for more
    yields: list[int] = field(default_factory=list)
    resumed: list[Edge] = field(default_factory=list)
    #: "" for the code of a module
    name: str = ""
    #: was seen to run
    ran: bool = False
    #: nodes that return a known value, and whether it is true
    constant: dict[int, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownFunctions:
    """The functions that calls can be joined with."""

    #: functions whose name only one of them has
    named: Mapping[str, FunctionNodes]
    #: by file, class and name
    methods: Mapping[tuple[str, str, str], FunctionNodes]
    #: imports of each file: local name -> the words of the module's path and of the name in it
    imported: Mapping[str, Mapping[str, frozenset[str]]]
    #: name of a variable or attribute -> the only class of the files whose instances it holds
    objects: Mapping[str, str]
    #: methods by class and method name, for classes with a unique name
    of_class: Mapping[tuple[str, str], FunctionNodes]

    def called_by(self, node: Node) -> FunctionNodes | None:
        """The first of the statement's calls that is known; methods of `self` count whatever their names."""
        return self._method(node) or self._named(node)

    def calls(self, node: Node) -> list[FunctionNodes]:
        """The known functions that the statement calls, in order; one, if it is not certain that it calls several."""
        found = self._always_called(node)
        if len(found) > 1 and not any(called.yields for called in found):
            return found
        first = self.called_by(node)
        return [first] if first else []

    def may_be_left_out(self, node: Node, called: FunctionNodes) -> bool:
        """Whether the function is called only if what the statement evaluates before lets it."""
        return statements.short_circuits(node.stmt) and called not in self._always_called(node)

    def _always_called(self, node: Node) -> list[FunctionNodes]:
        found = []
        for call in statements.calls_in_order(node.stmt):
            alone = ast.Expr(ast.Call(statements.without_calls(call.func), [], []))
            called = self.called_by(Node(node.file, node.function, alone, node.first, node.last, node.owner))
            if called is not None:
                found.append(called)
        return found

    def _method(self, node: Node) -> FunctionNodes | None:
        if node.owner:
            for name in statements.called_on_self(node.stmt):
                if method := self.methods.get((node.file, node.owner, name)):
                    return method
        for holder, name in statements.called_on(node.stmt):
            if method := self.of_class.get((self.objects.get(holder, ""), name)):
                return method
        return None

    def _named(self, node: Node) -> FunctionNodes | None:
        for name, root in statements.called_by(node.stmt):
            origin = self.imported.get(node.file, {}).get(root)
            found = self.named.get(name)
            if found and origin is None and root != name and not found.method:
                continue  # `loss.mean()` does not call the program's own function `mean`
            # `torch.save()` does not call the program's own `save`
            if found and (origin is None or origin & _words(found.file)):
                return found
        return None


def _words(file: str) -> frozenset[str]:
    path = PurePath(file)
    return frozenset({path.stem, *path.parent.parts})


def told_apart(named: Mapping[str, list[FunctionNodes]], seen: list[FunctionNodes]) -> dict[str, FunctionNodes]:
    """The function that a name means: the only one of that name, or the only one that was seen to run."""
    found = {}
    for name, functions in named.items():
        candidates = functions if len(functions) == 1 else [one for one in functions if one in seen]
        if len(candidates) == 1:
            found[name] = candidates[0]
    return found


def of_class(methods: Mapping[tuple[str, str, str], FunctionNodes]) -> dict[tuple[str, str], FunctionNodes]:
    files: dict[str, set[str]] = {}
    for file, owner, _ in methods:
        files.setdefault(owner, set()).add(file)
    return {(owner, name): made for (_, owner, name), made in methods.items() if owner and len(files[owner]) == 1}
