"""Whether statements can fail on one rank alone: they read data, or run something that is not known."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from typing import TypeVar

from ddpdoctor.lint.facts import devices, exception_handlers
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.values.abstract_objects import Function
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

N = TypeVar("N", bound=ast.AST)

#: packages whose functions fail on all ranks or on none; making tensors does so where all ranks make the same
_ALIKE = ("builtins", "torch", "time", "os", "math", "gc", "deepspeed.accelerator", "deepspeed.comm")
#: what they do with a path that gives the same on all disks, or raises nothing
_ANYWHERE = frozenset({Use.ASKS, Use.MAKES_FOLDER})
#: those that depend on what this rank has, and have no row in the table of files
_OWN = frozenset({"builtins.next", "builtins.input", "torch.hub.load_state_dict_from_url"})
#: functions of the project that are followed at most
_MOST = 12


def may_fail_alone(facts: ModuleFacts, body: Iterable[ast.stmt], before: SourceSite | None = None) -> bool:
    """Whether one of the calls in the statements, earlier than a place, can fail on one rank alone."""
    here = _Scope(facts.module, tuple(body))
    for call in here.calls():
        earlier = before is None or (call.lineno, call.col_offset) < (before.line, before.column - 1)
        if earlier and not here.alike(call.func) and not _only_communicates(facts, call):
            return True
    return False


def fails_alike(facts: ModuleFacts, body: Iterable[ast.stmt]) -> bool:
    """Whether everything that the statements do, in the project's functions too, fails on all ranks or on none, or is
    caught where it happens."""
    own = _Scope(facts.module, tuple(body))
    waiting, seen = [own], list[FunctionInfo]()
    while waiting:
        scope = waiting.pop()
        if scope.depends_on_data() or (scope is not own and scope.raises()):
            return False
        for call in scope.uncaught(ast.Call):
            if scope.alike(call.func):
                continue
            info = _function(facts.analysis, scope.module, call.func)
            if info is None or len(seen) >= _MOST:
                return False
            if info not in seen:
                seen.append(info)
                waiting.append(_Scope(info.module, tuple(info.body)))
    return True


#: seconds that a person waits for an error without thinking of a hang
_PATIENCE = 120


def waits_briefly(facts: ModuleFacts) -> bool:
    """Whether every group that is made gives up soon by its own words: `timeout=timedelta(seconds=60)`."""
    groups = facts.named(devices.GROUP)
    given = [next((k.value for k in call.node.keywords if k.arg == "timeout"), None) for call in groups]
    return bool(given) and all(0 < _seconds(value) <= _PATIENCE for value in given)


def _seconds(value: ast.expr | None) -> float:
    """The seconds of a `timedelta(...)` that is written in seconds and minutes, 0 for anything else."""
    if not isinstance(value, ast.Call) or last_name(value.func) != "timedelta" or value.args:
        return 0
    total = 0.0
    for part in value.keywords:
        number = part.value.value if isinstance(part.value, ast.Constant) else None
        if part.arg not in _UNITS or not isinstance(number, (int, float)):
            return 0
        total += _UNITS[part.arg] * number
    return total


#: seconds in the units in which short times are written
_UNITS = {"seconds": 1, "minutes": 60}


def _only_communicates(facts: ModuleFacts, call: ast.Call) -> bool:
    """Whether it is a function of the project that runs collectives and calculates, and makes nothing; or a method of
    what that gives."""
    head: ast.expr = call.func
    while isinstance(head, ast.Attribute):
        head = head.value
    if isinstance(head, ast.Call):
        return _only_communicates(facts, head)
    info = _function(facts.analysis, facts.module, call.func)
    if info is None:
        return False
    names = [_named(info.module, called.func) for called in _Scope(info.module, tuple(info.body)).calls()]
    return bool(names) and all(name.startswith(("torch.distributed.", "builtins.")) for name in names)


class _Scope(NamedTuple):
    """Statements of a file, and what the names in them are bound to."""

    module: Module
    body: tuple[ast.stmt, ...]

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in self._nodes() if isinstance(node, ast.Call))

    def uncaught(self, kind: type[N]) -> Iterator[N]:
        """Nodes of a kind whose exceptions leave the statements."""
        caught = {
            id(part)
            for node in self._nodes()
            if isinstance(node, ast.Try) and any(map(swallows, node.handlers))
            for inner in node.body
            for part in walk(inner)
        }
        return (node for node in self._nodes() if isinstance(node, kind) and id(node) not in caught)

    def depends_on_data(self) -> bool:
        """Whether something else runs in between, or is read: a `yield`, or a loop over data."""
        over = (node.iter for node in self.uncaught(ast.For))
        runs = any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)) for node in self._nodes())
        return runs or any(heuristics.DATA_CLASS.found_in(text_of(node)) for node in over)

    def raises(self) -> bool:
        """Whether it raises something itself."""
        return any(True for _ in self.uncaught(ast.Raise))

    def _nodes(self) -> Iterator[ast.AST]:
        return (node for statement in self.body for node in walk(statement))

    def alike(self, func: ast.expr, asked: frozenset[str] = frozenset()) -> bool:
        """Whether what is called is known to fail on all ranks or on none: builtins, torch, and what these made."""
        head = func
        while isinstance(head, (ast.Attribute, ast.Call)):
            head = head.value if isinstance(head, ast.Attribute) else head.func
        if not isinstance(head, ast.Name):
            return isinstance(head, (ast.Constant, ast.JoinedStr))
        name = _named(self.module, func)
        if name.startswith(tuple(f"{package}." for package in _ALIKE)) and not _is_of_rank(name):
            return True
        return isinstance(func, ast.Attribute) and (head.id in asked or self._made_alike(head.id, asked | {head.id}))

    def _made_alike(self, name: str, asked: frozenset[str]) -> bool:
        """Whether a name is bound, by these statements alone, to what such functions give."""
        made = [
            n.value
            for n in self._nodes()
            if isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == name for target in n.targets for t in walk(target))
        ]
        return bool(made) and all(self._gives_alike(value, asked) for value in made)

    def _gives_alike(self, value: ast.expr, asked: frozenset[str]) -> bool:
        if isinstance(value, ast.Call):
            return self.alike(value.func, asked)
        if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.List, ast.Tuple, ast.Dict, ast.IfExp)):
            return all(self.alike(n.func, asked) for n in walk(value) if isinstance(n, ast.Call))
        return isinstance(value, (ast.Constant, ast.JoinedStr))


def _is_of_rank(name: str) -> bool:
    """Whether a function depends on the disks or the data of this rank: `torch.load`, `os.remove`, `open`."""
    row = filesystem.function(name)
    return name in _OWN or name == filesystem.OPEN or (row is not None and row.use not in _ANYWHERE)


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether it catches every error that is no decision, and ends it."""
    every = handler.type is None or not exception_handlers.catches(handler).isdisjoint({"Exception", "BaseException"})
    return every and not any(isinstance(n, ast.Raise) for n in walk(handler))


def _named(module: Module, func: ast.expr) -> str:
    """The dotted name of what is called, as far as imports and builtins tell; of a method, that of what has it."""
    head = func
    while isinstance(head, (ast.Attribute, ast.Call)):
        if isinstance(head, ast.Attribute) and (name := module.imported(head)):
            return name
        head = head.value if isinstance(head, ast.Attribute) else head.func
    if not isinstance(head, ast.Name):
        return ""
    own = head.id in module.bindings or head.id in module.imports
    return module.imported(head) or (f"builtins.{head.id}" if not own and hasattr(builtins, head.id) else "")


def _function(machine: Machine, module: Module, func: ast.expr) -> FunctionInfo | None:
    """The project's function that is called by its name."""
    value = global_value(machine, module, func.id) if isinstance(func, ast.Name) else None
    return value.object.info if value is not None and isinstance(value.object, Function) else None
