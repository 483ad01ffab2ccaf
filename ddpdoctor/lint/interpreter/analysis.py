"""The analysis of a module: simulates it on a few ranks, and yields each function's trace and all events."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ddpdoctor.lint.interpreter import (
    budgets,
    calls,
    contexts,
    decorators,
    framework_objects,
    instances,
    modes,
    random_state,
)
from ddpdoctor.lint.interpreter.decorators import apply_decorators
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.expressions import EXPRESSIONS
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import CallOutcome, Machine, Outcomes, Root
from ddpdoctor.lint.interpreter.signature import bind, parameter_of, rank_parameters, teach
from ddpdoctor.lint.interpreter.statements import STATEMENTS
from ddpdoctor.lint.interpreter.trace import prune, while_group_stands
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Class, Enclosing, Function, Given, Instance, Listed
from ddpdoctor.lint.values.join import Decision, choose
from ddpdoctor.lint.values.tags import NO_TAGS, REASONS, Tag
from ddpdoctor.lint.values.values import NONE, Taint, Value, asserted, of_object, symbol, unknown
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import decorator_name
from ddpdoctor.program.signal_handlers import NO_FLAGS
from ddpdoctor.program.sites import SourceSite


class Aside(NamedTuple):
    """What something does that runs beside the program."""

    calls: list[CallEvent]
    #: attribute values of objects, by object key
    heap: dict[tuple[int, str], Value]


class Analysis(Machine):
    """The analysis of one module. Rules read `calls`, `iterations`, `branches` and `roots`."""

    __slots__ = ()

    def run(self) -> None:
        """Simulate the module's top level, then every function that nothing in the module has called."""
        self.run_top_level()
        functions = [*self.module.functions]
        for cls in self.module.classes:
            functions.extend(cls.methods.values())
        called = self._mentioned()
        for info in sorted(functions, key=lambda f: (f.name in called, f.node.lineno)):
            if info not in self.ran and not _is_skipped(info):
                self.run_alone(info)

    def run_top_level(self) -> None:
        """Simulate the module as a script."""
        self.reached[self.module.path] = self.module
        frame = Frame(self.module, calls=("<module>",))
        self._root("<module>", None, frame, self.module.tree.body)

    def release(self) -> None:
        """Break the reference cycles of what was simulated, once nobody asks about it any more: otherwise only Python's
        garbage collector frees its memory, and to let that run often took a twentieth of lint's time."""
        for frame in self.enclosing:
            frame.release()

    def _mentioned(self) -> set[str]:
        """Names that are called or passed on somewhere in the module."""
        names = {node.id for node in self.module.of(ast.Name)}
        names.update(node.attr for node in self.module.of(ast.Attribute))
        return names

    def run_alone(self, info: FunctionInfo, closure: Frame | None = None) -> None:
        """Simulate a function with unknown arguments."""
        if info.decorators:
            wrapped = decorators.run(self, info, self.parameters(info))
            if wrapped is not None:
                self.roots.append(Root(info.qualname, wrapped, info))
                return
        frame = Frame(info.module, info, closure=closure, calls=(info.qualname,))
        frame.env = self.parameters(info)
        self._root(info.qualname, info, frame, info.body)

    def run_spawned(self, info: FunctionInfo, args: Sequence[Value], parent: Frame, site: SourceSite) -> None:
        frame = Frame(info.module, info, calls=(*parent.calls, info.qualname), chain=(*parent.chain, site))
        frame.env = self.parameters(info)
        for parameter, value in zip(info.parameters, args, strict=False):
            frame.env[parameter.arg] = value
        self._root(info.qualname, info, frame, info.body)

    def run_aside(self, function: Function, args: tuple[Value, ...], event: CallEvent) -> Aside:
        """What a function of the project does that something outside calls in every process, as a loader calls methods
        of its data set. It leaves no events behind, and changes nothing: nobody knows when it runs."""
        around = event.context
        frame = Frame(
            around.module, around.function, mask=around.mask, loops=around.loops, guards=around.guards,
            calls=around.calls, chain=around.chain,
        )  # fmt: skip
        events: tuple[list[Any], ...] = (
            self.calls, self.iterations, self.settings, self.stops, self.switched, self.named_parts, self.sharing,
            self.attached, self.asserted, self.branches, self.accesses, self.prepared, self.roots,
        )  # fmt: skip
        ends = [len(one) for one in events]
        heap, generators, ran = dict(self.heap), dict(self.generators), set(self.ran)
        try:
            self.call(function, args, (), frame, event.site)
            return Aside(self.calls[ends[0] :], self.heap)
        finally:
            for one, end in zip(events, ends, strict=True):
                del one[end:]
            self.heap, self.generators, self.ran = heap, generators, ran

    def _root(self, name: str, info: FunctionInfo | None, frame: Frame, body: list[ast.stmt]) -> None:
        if info is not None:
            if info in self.stack:
                return
            self.ran.add(info)
            self.stack.append(info)
        held = self.held
        try:
            if info is not None:
                apply_decorators(self, frame, info)
            self.execute(frame, body)
            self._nested(frame)
        except RecursionError:
            self.too_deep = True
        finally:
            self.held = held
            if info is not None:
                self.stack.pop()
        self.roots.append(Root(name, while_group_stands(prune(frame.out)), info))

    def _nested(self, frame: Frame) -> None:
        for info in frame.nested:
            # one of another file has no way in from here, and would be recorded before the calls that do
            mine = info.module is self.module or self.observed is not None
            if mine and info not in self.ran and not self.silent:
                self.run_alone(info, frame)

    def execute(self, frame: Frame, body: list[ast.stmt]) -> None:
        observed = self.observed
        for statement in body:
            if not frame.mask:
                return
            self.steps += 1
            if observed is not None:
                self.observe(frame, statement)
            simulate = STATEMENTS.get(statement.__class__)
            if simulate is not None:
                simulate(self, frame, statement)

    def evaluate(self, frame: Frame, node: ast.expr) -> Value:
        module = frame.module
        if node.__class__ is ast.Name and not module.annotated and module.flags is NO_FLAGS:
            known = frame.env.get(node.id)
            if known is not None:
                return known  # nearly half of all evaluations are of local variables
        evaluator = EXPRESSIONS.get(node.__class__)
        value = evaluator(self, frame, node) if evaluator is not None else unknown("expression", id(node))
        if module.annotated:
            taints = self.annotated[module]
            return asserted(value, taints[id(node)]) if id(node) in taints else value
        return value

    def parameters(self, info: FunctionInfo) -> dict[str, Value]:
        """Every parameter as an unknown, except those whose use in the function shows what they are."""
        env: dict[str, Value] = {}
        arguments = info.node.args
        for index, parameter in enumerate(info.parameters):
            if index == 0 and info.owner is not None and info.of_class:
                env[parameter.arg] = of_object(Class(info.owner), id(info.owner))
            elif index == 0 and info.owner is not None and not info.is_static:
                env[parameter.arg] = of_object(Instance(info.owner, None), "self", id(info.owner))
            else:
                env[parameter.arg] = parameter_of(self, info, parameter.arg)
        for extra in (*arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if extra is not None:
                env[extra.arg] = parameter_of(self, info, extra.arg)
        env.update(framework_objects.parameters(self, info))
        env.update(rank_parameters(self, info))
        teach(self, info, env)
        return env

    def call(
        self, function: Function, args: tuple[Value, ...], keywords: tuple[tuple[str, Value], ...],
        frame: Frame, site: SourceSite,
    ) -> CallOutcome | None:  # fmt: skip
        """The outcome of calling a function of the project; None if the call is not followed."""
        info = function.info
        too_much = self.steps > budgets.STATEMENTS or len(self.stack) >= budgets.DEPTH
        if info in self.stack or too_much or info.abstract:
            return None
        env = bind(self, info, function.receiver, args, keywords)
        given = [env[name] for name in info.signature.bound]
        # an unknown of which no more is known is left to `_specialises` by most calls
        specialised = tuple(
            [value if value.object is not None or value.tags or self._specialises(value) else None for value in given]
        )
        carried = instances.carried(frame, function, given)
        seen = self._seen(info, function.closure) if function.closure is not None else ()
        key = (info, specialised, frame.mask, min(len(frame.loops), 2), frame.no_grad, bool(frame.guards),
               frame.handler, random_state.states(self, frame), seen, self.held,
               modes.known(self, frame, given) if self.modes else None, contexts.asked(frame), carried)  # fmt: skip
        try:
            known = self.outcomes.setdefault(key, Outcomes())
        except TypeError:
            return None
        if known.recorded is not None:
            return known.recorded  # it serves a call that is only tried out as well
        if not self.silent:
            known.recorded = self._simulate(function, env, frame, site, carried)
            return known.recorded
        if known.tried is None:
            known.tried = self._simulate(function, env, frame, site, carried)
        return known.tried

    def _simulate(
        self, function: Function, env: dict[str, Value], frame: Frame, site: SourceSite, carried: instances.Carried
    ) -> CallOutcome:
        info = function.info
        inner = Frame(
            info.module, info, env, function.closure, frame.mask, loops=() if info.remembers else frame.loops,
            guards=frame.guards, no_grad=frame.no_grad, handler=frame.handler, calls=(*frame.calls, info.qualname),
            chain=(*frame.chain, site), withs=frame.withs, entered=len(frame.guards),
            mode=modes.inside(self, frame, function.receiver), stores=dict(carried),
        )  # fmt: skip
        # also where `from module import *` led to it
        self.reached[info.module.path] = info.module
        if not self.silent:
            self.ran.add(info)
        self.stack.append(info)
        held = self.held
        try:
            apply_decorators(self, inner, info)
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
            self.held = held
            self.stack.pop()
        ends = not inner.returns and not inner.alive and not inner.yields
        value = self._yielded(inner, site) if inner.yields else self.returned(inner)
        each = tuple(one for _, one in inner.returns)
        stores = instances.changed(instances.left_behind(inner), carried)
        return CallOutcome(value, prune(inner.out), stores, inner.resets, ends, each)

    def _yielded(self, frame: Frame, site: SourceSite) -> Value:
        """The result of calling a generator: an iterable with the yielded elements."""
        first = frame.yields[0]
        same = first is not None and all(v is not None and v.object == first.object for v in frame.yields[1:])
        value = of_object(Listed(site, first if same else None), "generator", id(frame.function), site)
        if frame.yields_on:
            value = value.tagged(Tag.ENDLESS)
        if frame.yields_apart is not None and not frame.yields_on:
            value = containers.uneven(value, frame.yields_apart & REASONS)
        of_share = Tag.SHARD | (Tag.BLOCK if frame.yields_several else NO_TAGS)
        return value.tagged(of_share) if frame.yields_share else value

    def _seen(self, info: FunctionInfo, around: Enclosing | None) -> tuple[object, ...]:
        """What a function sees of the variables around it, for which it must be simulated again."""
        seen: list[object] = []
        while around is not None:
            values = ((name, around.env[name]) for name in sorted(info.reads & around.env.keys()))
            seen.append((id(around), *((name, value) for name, value in values if self._specialises(value))))
            around = around.closure
        return tuple(seen)

    def _specialises(self, value: Value) -> bool:
        """Whether a callee must be simulated again for this argument."""
        if value.object is not None or value.tags:
            return True
        return value.taint is not Taint.UNKNOWN and (value.taint is not Taint.GIVEN or self.observed is not None)

    def returned(self, frame: Frame) -> Value:
        """The value of a call, for each rank from the returns that it can reach."""
        returns = list(frame.returns)
        if frame.alive:
            returns.append((frame.mask, NONE))
        if not returns:
            return NONE
        if len(returns) == 1:
            return returns[0][1]
        mask, value = returns[0]
        truths = () if frame.apart is None else (symbol("apart", id(frame.function), taint=Taint.RANK_LOCAL),)
        for more_mask, more in returns[1:]:
            if more != value:
                value = choose(
                    Decision(truths), value, more, (mask, more_mask), ("return", id(frame.function), len(returns))
                )
                value = value.with_tags(value.tags | (frame.apart or NO_TAGS))
            mask |= more_mask
        return value

    def follow(self, frame: Frame, function: Function, given: Given) -> Value:
        return calls.follow(self, frame, function, given)


def _is_skipped(info: FunctionInfo) -> bool:
    """Whether it is a test that is marked as skipped, or one of a class of them: nobody runs it."""
    around = info.owner.node.decorator_list if info.owner is not None else []
    return any(decorator_name(decorator) == _SKIPPED for decorator in (*info.decorators, *around))


_SKIPPED = "skip"
