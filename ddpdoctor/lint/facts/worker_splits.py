"""Streams that are split between the workers of a loader: by what, and which names decide what a rank reads."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from ddpdoctor.lint.interpreter.classes import find_method, mro
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.instances import instance_value
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import randomness
from ddpdoctor.lint.knowledge.randomness import Use
from ddpdoctor.lint.values.abstract_objects import Function, Instance
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import last_name, walk

#: what torch says of the worker that runs the code
_ASKS = "get_worker_info"
_DRAWING = randomness.last_names(*randomness.DRAWING, Use.SHUFFLES) | randomness.DRAW_METHODS
_MAKING = randomness.last_names(Use.MAKES)
#: statements of these calls tell the user something, and change nothing
_TELLS = frozenset({"print", "debug", "info", "warning", "warn", "error", "log", "log_rank", "exception"})
#: the function that gives every so many elements, with as many arguments
_ISLICE, _WITH_STEP = "islice", 4


class Step(NamedTuple):
    """An expression that is computed, and the names that it is kept under; with none, it decides something."""

    targets: frozenset[str]
    value: ast.AST


class Stream:
    """What the methods of a class, with its bases in the project, do with names: messages and checks do not count, nor
    what is computed and never used."""

    def __init__(self, machine: Machine, stream: Value, obj: Instance) -> None:
        self._classes = mro(machine, obj.info)
        self._methods = {name: method for cls in reversed(self._classes) for name, method in cls.methods.items()}
        self._stored = {name for cls in self._classes for name in cls.stores}
        #: functions that its constructor is given, and objects that it keeps, by the attributes that it calls
        self.called = _called(machine, stream, obj, self._classes)
        self._methods |= self.called
        steps = list(self._all_steps())
        self._nodes = [node for step in _used(steps) for node in walk(step.value)]
        self._steps = steps

    def _all_steps(self) -> Iterator[Step]:
        """What the methods compute, also one that another one stands for, which may call it, and what is called."""
        for cls in self._classes:
            for method in cls.methods.values():
                yield from (step for step in _steps(method.body) if not self._keeps_called(step))
        for function in self.called.values():
            yield from _steps_of(function)

    def _keeps_called(self, step: Step) -> bool:
        """Whether it only stores one of the functions that are called later."""
        return bool(step.targets) and step.targets <= {f"self.{name}" for name in self.called}

    @property
    def by_worker_alone(self) -> bool:
        """Whether elements are divided by nothing but the number of the workers: `files[info.id :: info.num_workers]`,
        `islice(lines, info.id, None, info.num_workers)`, `i % info.num_workers == info.id`."""
        names = self._derived(_asks_for_worker)
        return any(
            self._is_of_workers(first, names) and self._is_of_workers(step, names)
            for node in self._nodes
            for first, step in _divisions(node)
        )

    def computes(self, node: ast.AST) -> bool:
        """Whether the class does something with the result of a node of one of its methods."""
        return any(node is one for one in self._nodes)

    @property
    def foreign(self) -> set[str]:
        """Names that come from elsewhere: of modules and their parts, of attributes that others store, of parameters.
        What the class has named itself says no more than what it is computed from."""
        local = {target for step in self._steps for target in step.targets} | self._variables()
        parameters = self._parameters
        words: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Name):
                words |= {node.id} if node.id in parameters or f".{node.id}" not in local else set()
            elif isinstance(node, ast.Attribute):
                own = _is_self(node) and (node.attr in self._stored or node.attr in self._methods)
                words |= set() if own else {node.attr}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isupper():
                words.add(node.value)
        return words

    @property
    def _parameters(self) -> set[str]:
        """Those whose arguments are given from outside: of the constructor, and of methods that the class itself does
        not call."""
        called = {node.attr for node in self._nodes if isinstance(node, ast.Attribute) and _is_self(node)}
        return {
            argument.arg for name, method in self._methods.items() if name not in called
            for argument in method.parameters[1:]
        }  # fmt: skip

    def ignores(self, position: int) -> bool:
        """Whether what the constructor is given there decides nothing."""
        constructor = self._methods.get("__init__")
        given = constructor.parameters[1:][position : position + 1] if constructor is not None else []
        return bool(given) and self.ignores_named(given[0].arg)

    def ignores_named(self, parameter: str) -> bool:
        """The same of what it is given by name."""
        return not any(isinstance(node, ast.Name) and node.id == parameter for node in self._nodes)

    @property
    def draws_unseeded(self) -> bool:
        """Whether it draws from a generator that it has not made and seeded itself: each rank may draw its own."""
        seeded = self._derived(_makes_seeded)
        return any(
            isinstance(node, ast.Call)
            and last_name(node.func) in _DRAWING
            and not (
                isinstance(node.func, ast.Attribute)
                and (self._is_own(node.func, seeded) or _makes_seeded(node.func.value))
            )
            for node in self._nodes
        )

    def _is_own(self, func: ast.Attribute, seeded: set[str]) -> bool:
        return _key(func.value) in seeded or (_is_self(func) and func.attr in self._methods)

    def _variables(self) -> set[str]:
        """Variables of comprehensions and lambdas, and parameters of methods."""
        given = {f".{a.arg}" for method in self._methods.values() for a in method.parameters}
        bound = {f".{n.id}" for n in self._nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return given | bound

    def _derived(self, begins: Callable[[ast.AST], bool]) -> set[str]:
        """Names of what is computed from something, also by the class's own methods."""
        names = {f"self.{name}" for name, method in self._methods.items() if any(map(begins, walk(method.node)))}
        while True:
            more = {
                target for step in self._steps for target in step.targets
                if any(_key(node) in names or begins(node) for node in walk(step.value))
            }  # fmt: skip
            if more <= names:
                return names
            names |= more

    def _is_of_workers(self, part: ast.expr | None, names: set[str]) -> bool:
        """Whether an expression is one of the worker, or of the number of workers, and of nothing else."""
        if part is None:
            return False
        read = {_key(n) for n in walk(part) if isinstance(n, (ast.Name, ast.Attribute))} - {"", ".self"}
        whole = {key for key in read if not any(other.startswith(f"{key}.") for other in read)}
        return bool(whole) and all(
            key in names or key.rpartition(".")[0] in names or key.endswith(f".{_ASKS}") for key in whole
        )


def _called(machine: Machine, stream: Value, obj: Instance, classes: list[ClassInfo]) -> dict[str, FunctionInfo]:
    """The functions behind attributes that the methods call: what the constructor is given, or has as its default, and
    objects of the project that can be called."""
    calls = (node.func for cls in classes for node in walk(cls.node) if isinstance(node, ast.Call))
    names = {func.attr for func in calls if isinstance(func, ast.Attribute) and _is_self(func)}
    found: dict[str, FunctionInfo] = {}
    for name in sorted(names & {name for cls in classes for name in cls.stores}):
        value = instance_value(machine, Frame(obj.info.module), stream, obj, name)
        kept = value.object if value is not None else None
        call = find_method(machine, kept.info, "__call__") if isinstance(kept, Instance) else None
        if isinstance(kept, Function) and kept.receiver is None:
            found[name] = kept.info
        elif call is not None:
            found[name] = call
    return found


def _steps_of(function: FunctionInfo) -> list[Step]:
    if isinstance(function.node, ast.Lambda):
        return [Step(frozenset(), function.node.body)]
    return list(_steps(function.body))


def _asks_for_worker(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == _ASKS


def _makes_seeded(node: ast.AST) -> bool:
    """Whether it makes a generator of a seed: `Random(seed)`, `numpy.random.default_rng((seed, epoch))`."""
    return isinstance(node, ast.Call) and last_name(node.func) in _MAKING and bool(node.args or node.keywords)


def _steps(body: Iterable[ast.stmt]) -> Iterator[Step]:
    """What statements compute, without messages and checks."""
    for statement in body:
        if _only_tells(statement):
            continue
        yield from _own_steps(statement)
        for part in ("body", "orelse", "finalbody"):
            yield from _steps(getattr(statement, part, ()))
        for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _steps(inner.body)


def _own_steps(statement: ast.stmt) -> Iterator[Step]:
    if isinstance(statement, ast.Assign):
        names = {key for target in statement.targets for key in _targets(target)}
        yield Step(frozenset(names - {""}) if "" not in names else frozenset(), statement.value)
        return
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        if statement.value is not None:
            yield Step(frozenset(_targets(statement.target)) - {""}, statement.value)
        return
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        yield Step(frozenset(_targets(statement.target)) - {""}, statement.iter)
        yield Step(frozenset(), statement.iter)
        return
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield Step(frozenset(), child)


def _only_tells(statement: ast.stmt) -> bool:
    """Whether it says something, or makes sure of something, and computes nothing."""
    if isinstance(statement, (ast.Assert, ast.Raise, ast.Pass)):
        return True
    if isinstance(statement, ast.Expr):
        value = statement.value
        told = isinstance(value, ast.Call) and last_name(value.func) in _TELLS
        return told or isinstance(value, ast.Constant)
    return isinstance(statement, ast.If) and all(map(_only_tells, (*statement.body, *statement.orelse)))


def _targets(target: ast.AST) -> set[str]:
    """What is assigned to; "" for an entry of something."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return {key for item in target.elts for key in _targets(item)}
    if isinstance(target, ast.Starred):
        return _targets(target.value)
    return {_key(target)}


def _key(node: ast.AST) -> str:
    """`.name` of a variable, `self.name` of an attribute, `.info.id` of a part of a variable; "" of others."""
    if isinstance(node, ast.Name):
        return f".{node.id}"
    if isinstance(node, ast.Attribute):
        if _is_self(node):
            return f"self.{node.attr}"
        around = _key(node.value)
        return f"{around}.{node.attr}" if around else ""
    return ""


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _used(steps: list[Step]) -> list[Step]:
    """The steps whose results decide something."""
    used = [step for step in steps if not step.targets]
    left = [step for step in steps if step.targets]
    read: set[str] = set()
    new = used
    while new:
        read |= {_key(n) for step in new for n in walk(step.value)} - {""}
        new = [step for step in left if not read.isdisjoint(step.targets)]
        used = used + new
        left = [step for step in left if step not in new]
    return used


def _divisions(node: ast.AST) -> Iterator[tuple[ast.expr | None, ast.expr | None]]:
    """(the first, the step) of what takes every so many elements."""
    if isinstance(node, ast.Slice) and node.step is not None:
        yield node.lower, node.step
    elif isinstance(node, ast.Call) and last_name(node.func) == _ISLICE and len(node.args) == _WITH_STEP:
        yield node.args[1], node.args[3]
    elif isinstance(node, ast.Call) and last_name(node.func) == "range" and len(node.args) == _WITH_STEP - 1:
        yield node.args[0], node.args[2]
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for left, right in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
                yield right, left.right
