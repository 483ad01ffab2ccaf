"""Simulating a module on a few ranks: what each function does collectively, and every event on the way."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddpdoctor.lint.facts import decorators, frameworks
from ddpdoctor.lint.facts.events import Access, Branch, Call, Context, Iteration
from ddpdoctor.lint.facts.expressions import EXPRESSIONS
from ddpdoctor.lint.facts.frame import Frame, choose
from ddpdoctor.lint.facts.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.lint.facts.project import Project
from ddpdoctor.lint.facts.signature import bind, rank_parameters, teach
from ddpdoctor.lint.facts.sites import site_of
from ddpdoctor.lint.facts.statements import STATEMENTS, apply_decorators
from ddpdoctor.lint.facts.things import Class, Function, Instance, Listed, Site
from ddpdoctor.lint.facts.trace import Trace, prune
from ddpdoctor.lint.facts.values import (
    EVERY_RANK,
    NO_TAGS,
    NONE,
    Symbol,
    Taint,
    Value,
    asserted,
    of_thing,
    per_rank,
    unknown,
)
from ddpdoctor.lint.facts.wrapping import Wrap
from ddpdoctor.lint.record import field, record

#: how deep calls are followed
DEPTH = 12
#: statements simulated for one file; beyond it, calls are no longer followed
BUDGET = 12_000


@record(eq=False, slots=True)
class Outcome:
    """What calling a function with certain arguments does."""

    value: Value
    trace: Trace
    #: stores into objects that were passed in
    stores: dict[tuple[int, str], Value]
    #: positions of parameters that a collective overwrites
    resets: tuple[str, ...]
    #: no rank comes back from it
    ends: bool = False


@record(eq=False, slots=True)
class Root:
    """A function (or the module itself, or a spawned function) analysed from its start."""

    name: str
    trace: Trace
    function: FunctionInfo | None


@record(eq=False, slots=True)
class Analysis:
    """All facts about one module. Rules read `calls`, `iterations`, `branches` and `roots`."""

    module: Module
    project: Project
    calls: list[Call] = field(default_factory=list)
    iterations: list[Iteration] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    #: networks that are in a DDP wrapper, by object key
    wrapped: dict[int, Wrap] = field(default_factory=dict)
    roots: list[Root] = field(default_factory=list)
    #: functions that were simulated in some context
    ran: set[FunctionInfo] = field(default_factory=set)
    #: attribute values of objects, by object key
    heap: dict[tuple[int, str], Value] = field(default_factory=dict)
    #: global random generators: how each was seeded last, and in which root
    dice: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    #: every local module that was looked into
    reached: dict[str, Module] = field(default_factory=dict)
    steps: int = 0
    #: events are dropped while loops and attributes are tried out
    silent: int = 0
    #: the analysis gave up somewhere because the source nests too deeply
    too_deep: bool = False
    outcomes: dict[tuple[object, ...], Outcome] = field(default_factory=dict)
    globals_: dict[tuple[str, str], Value | None] = field(default_factory=dict)
    #: what functions store in names of their file; None where that is not one thing on all ranks
    rebound: dict[tuple[str, str], Value | None] = field(default_factory=dict)
    #: (file, name, constant) of names that a context holds at something else while its block runs
    held: frozenset[tuple[str, str, object]] = frozenset()
    attributes: dict[tuple[object, ...], Value | None] = field(default_factory=dict)
    #: frameworks' classes that a class inherits from
    bases: dict[ClassInfo, tuple[str, ...]] = field(default_factory=dict)
    stack: list[FunctionInfo] = field(default_factory=list)
    #: what decorators of the project put in place of a function
    wrappers: dict[FunctionInfo, Function | None] = field(default_factory=dict)
    #: what loops go through, by the key of its symbol
    elements: set[int] = field(default_factory=set)

    def run(self) -> None:
        """Simulate the module's top level, then every function that nothing in it has called."""
        self.reached[self.module.path] = self.module
        frame = Frame(self.module, calls=("<module>",))
        self._root("<module>", None, frame, self.module.tree.body)
        functions = [*self.module.functions]
        for cls in self.module.classes:
            functions.extend(cls.methods.values())
        called = self._mentioned()
        for info in sorted(functions, key=lambda f: (f.name in called, f.node.lineno)):
            if info not in self.ran:
                self.run_alone(info)

    def _mentioned(self) -> set[str]:
        """Names called or passed on somewhere in the module."""
        names = {node.id for node in self.module.of(ast.Name)}
        names.update(node.attr for node in self.module.of(ast.Attribute))
        return names

    def run_alone(self, info: FunctionInfo, closure: dict[str, Value] | None = None) -> None:
        """Simulate a function with unknown arguments."""
        if info.decorators:
            wrapped = decorators.run(self, info)
            if wrapped is not None:
                self.roots.append(Root(info.qualname, wrapped, info))
                return
        frame = Frame(info.module, info, closure=closure, calls=(info.qualname,))
        frame.env = self.parameters(info)
        self._root(info.qualname, info, frame, info.body)

    def run_spawned(self, info: FunctionInfo, args: Sequence[Value], parent: Frame, site: Site) -> None:
        """Simulate a function that a new process runs: a root of its own."""
        frame = Frame(info.module, info, calls=(*parent.calls, info.qualname), chain=(*parent.chain, site))
        frame.env = self.parameters(info)
        for parameter, value in zip(info.parameters, args, strict=False):
            frame.env[parameter.arg] = value
        self._root(info.qualname, info, frame, info.body)

    def _root(self, name: str, info: FunctionInfo | None, frame: Frame, body: list[ast.stmt]) -> None:
        if info is not None:
            if info in self.stack:
                return
            self.ran.add(info)
            self.stack.append(info)
        try:
            self._enter_decorators(info, frame)
            self.execute(frame, body)
            self._nested(frame)
        except RecursionError:
            self.too_deep = True
        finally:
            if info is not None:
                self.stack.pop()
        self.roots.append(Root(name, prune(frame.out), info))

    def _nested(self, frame: Frame) -> None:
        for info in frame.nested:
            if info not in self.ran and not self.silent:
                self.run_alone(info, frame.env)

    def execute(self, frame: Frame, body: list[ast.stmt]) -> None:
        """Simulate statements until the end or until no rank goes on."""
        for statement in body:
            if not frame.alive:
                return
            self.steps += 1
            simulate = STATEMENTS.get(type(statement))
            if simulate is not None:
                simulate(self, frame, statement)

    def evaluate(self, frame: Frame, node: ast.expr) -> Value:
        """The value of an expression; calls in it are followed and recorded."""
        evaluator = EXPRESSIONS.get(node.__class__)
        value = evaluator(self, frame, node) if evaluator is not None else unknown("expression", id(node))
        taints = frame.module.taught.taints
        return asserted(value, taints[id(node)]) if taints and id(node) in taints else value

    def _enter_decorators(self, info: FunctionInfo | None, frame: Frame) -> None:
        if info is not None:
            apply_decorators(self, frame, info)

    def parameters(self, info: FunctionInfo) -> dict[str, Value]:
        """Every parameter unknown, but for what its use in the function proves it to be."""
        env: dict[str, Value] = {}
        arguments = info.node.args
        for index, parameter in enumerate(info.parameters):
            if index == 0 and info.owner is not None and info.of_class:
                env[parameter.arg] = of_thing(Class(info.owner), id(info.owner))
            elif index == 0 and info.owner is not None and not info.is_static:
                env[parameter.arg] = of_thing(Instance(info.owner, None), "self", id(info.owner))
            else:
                env[parameter.arg] = unknown("parameter", id(info), parameter.arg)
        for extra in (*arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if extra is not None:
                env[extra.arg] = unknown("parameter", id(info), extra.arg)
        env.update(frameworks.parameters(self, info))
        env.update(rank_parameters(self, info))
        teach(info, env)
        return env

    def call(
        self, function: Function, args: tuple[Value, ...], keywords: tuple[tuple[str, Value], ...],
        frame: Frame, site: Site,
    ) -> Outcome | None:  # fmt: skip
        """The outcome of calling a function of the project; None where it is not followed."""
        info = function.info
        too_much = self.steps > BUDGET or len(self.stack) >= DEPTH
        if info in self.stack or too_much or info.abstract:
            return None
        env = bind(self, info, function.receiver, args, keywords)
        key = (info, tuple(sorted((k, v) for k, v in env.items() if _specialises(v))), frame.mask,
               min(len(frame.loops), 2), frame.no_grad, bool(frame.guards), frame.handler, self.silent > 0,
               tuple(self.dice.values()), id(function.closure), self.held)  # fmt: skip
        try:
            known = self.outcomes.get(key)
        except TypeError:
            return None
        if known is None:
            known = self.outcomes[key] = self._simulate(info, function, env, frame, site)
        return known

    def _simulate(
        self, info: FunctionInfo, function: Function, env: dict[str, Value], frame: Frame, site: Site
    ) -> Outcome:
        inner = Frame(
            info.module, info, env, function.closure, frame.mask, loops=() if info.remembers else frame.loops,
            guards=frame.guards, no_grad=frame.no_grad, handler=frame.handler, calls=(*frame.calls, info.qualname),
            chain=(*frame.chain, site), withs=frame.withs, entered=len(frame.guards),
        )  # fmt: skip
        if not self.silent:
            self.ran.add(info)
        self.stack.append(info)
        try:
            self._enter_decorators(info, inner)
            if isinstance(info.node, ast.Lambda):
                value = self.evaluate(inner, info.node.body)
                inner.returns.append((inner.mask, value))
                inner.mask = 0
            else:
                self.execute(inner, info.body)
            self._nested(inner)
        except RecursionError:
            self.too_deep = True
        finally:
            self.stack.pop()
        ends = not inner.returns and not inner.alive and not inner.yields
        value = self._yielded(inner, site) if inner.yields else self.returned(inner)
        return Outcome(value, prune(inner.out), inner.stores, tuple(sorted(inner.resets)), ends)

    def _yielded(self, frame: Frame, site: Site) -> Value:
        """What calling a generator gives: something to go through, whose elements are what it yields."""
        first = frame.yields[0]
        same = first is not None and all(v is not None and v.thing == first.thing for v in frame.yields[1:])
        value = of_thing(Listed(site, first if same else None), "generator", id(frame.function), site)
        if frame.yields_on:
            value = value.tagged("endless")
        return value.tagged("shard") if frame.yields_share else value

    def returned(self, frame: Frame) -> Value:
        """The value of a call, rank by rank from the returns that each rank can reach."""
        returns = list(frame.returns)
        if frame.alive:
            returns.append((frame.mask, NONE))
        if not returns:
            return NONE
        if len(returns) == 1:
            return returns[0][1]
        mask, value = returns[0]
        truths = () if frame.apart is None else (Symbol(hash(("apart", id(frame.function))), Taint.RANK_LOCAL),)
        for more_mask, more in returns[1:]:
            if more != value:
                value = choose(truths, value, mask, more, more_mask, ("return", id(frame.function), len(returns)))
                value = value.with_tags(value.tags | (frame.apart or NO_TAGS))
            mask |= more_mask
        return value

    def context(self, frame: Frame) -> Context:
        return Context(
            frame.module, frame.function, frame.mask, frame.loops, frame.guards, frame.no_grad, frame.handler,
            frame.calls, frame.chain, frame.withs,
        )  # fmt: skip

    def site(self, frame: Frame, node: ast.AST) -> Site:
        return site_of(frame.module, node)


def _specialises(value: Value) -> bool:
    """Whether a callee must be looked at anew for this argument."""
    return value.thing is not None or value.taint is not value.taint.UNKNOWN or bool(value.tags)


__all__ = ["BUDGET", "DEPTH", "EVERY_RANK", "Analysis", "Outcome", "Root", "per_rank", "site_of"]
