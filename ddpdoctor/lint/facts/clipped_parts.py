"""Gradients in distributed tensors whose parts a rank clips by the norm of its own parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import clipped_shares
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite, site_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef

#: the method of a distributed tensor that gives what this rank has of it
_LOCAL = "to_local"
#: functions that reduce tensors to numbers: norms, and what they are made of by hand
_MEASURING = frozenset({"norm", "vector_norm", "_foreach_norm", "get_total_norm", "sum", "dot", "vdot", "max", "amax"})
#: methods and attributes that give the same tensor in another form
_SAME = frozenset({"detach", "data", "view", "flatten", "reshape", "contiguous", "float", "to", "ravel"})
#: functions that hand on the elements of what they are given
_HANDING_ON = frozenset({"zip", "enumerate", "list", "tuple", "reversed"})
_ADDING = frozenset({"append", "extend"})
#: multiply the tensors of a list in place
_FOREACH = frozenset({"_foreach_mul_", "_foreach_div_"})
_IN_PLACE = frozenset({"mul_", "div_"})
#: functions and methods that compute a number of this rank's, or put it somewhere, and bring nothing together
_ALONE = frozenset({
    "min", "max", "float", "sum", "pow", "sqrt", "mul_", "div_", "add_", "append", "extend", "zip", "enumerate", "list",
    "tuple", "len", "isinstance", "print", "range", "isfinite", "isnan", "clamp",
})  # fmt: skip


class ClippedPart(NamedTuple):
    """Where a rank takes its part of a gradient, where it measures its parts, and where it makes them smaller."""

    call: CallEvent
    norm: SourceSite
    scaled: SourceSite


def found(facts: ModuleFacts) -> Iterator[ClippedPart]:
    """One in each function that takes parts of gradients, itself or by another one, as the file comes to it."""
    told: set[FunctionInfo] = set()
    for call in facts.methods(_LOCAL):
        info = call.context.function
        if info is None or info in told:
            continue
        told.add(info)
        by = info.name if _hands_out(info) else ""
        for function in _callers(facts, by) if by else (info,):
            part = _clipped(function, call, by) if not by or function not in told else None
            if part is not None:
                told.add(function)
                yield part


def _hands_out(info: FunctionInfo) -> bool:
    """Whether a function gives what this rank has of a tensor that it is given: `return t.to_local()`."""
    given = {a.arg for a in walk(info.node) if isinstance(a, ast.arg)}
    returned = [n.value for n in walk(info.node) if isinstance(n, ast.Return) and n.value is not None]
    methods = (n.func for value in returned for n in walk(value) if isinstance(n, ast.Call))
    taken = (_behind(m.value) for m in methods if isinstance(m, ast.Attribute) and m.attr == _LOCAL)
    return any(isinstance(owner, ast.Name) and owner.id in given for owner in taken)


def _callers(facts: ModuleFacts, name: str) -> Iterator[FunctionInfo]:
    """The functions of the program that call one of this name."""
    for module in facts.modules:
        if name in module.words:
            methods = (method for info in module.classes for method in info.methods.values())
            yield from (f for f in (*module.functions, *methods) if name in clipped_shares.called(f.node))


def _clipped(info: FunctionInfo, call: CallEvent, by: str) -> ClippedPart | None:
    """Where a function clips parts of gradients, which it takes by the method or by a function of this name."""
    if isinstance(info.node, ast.Lambda):
        return None
    flow = _Flow.of(info.node, by)
    scaled = next((node for node, factor in flow.scaled() if flow.is_limited(node, factor)), None)
    if flow.norm is None or scaled is None or _meets(info.module, flow, scaled.lineno):
        return None
    return ClippedPart(call, site_of(info.module, flow.norm), site_of(info.module, scaled))


@record(eq=False, slots=True)
class _Flow:
    """The variables of a function that hold this rank's parts of gradients, and numbers that it made of them."""

    function: _Function
    #: the function that gives a part of what it is given; "" if the method does
    by: str
    #: whole gradients, as distributed tensors
    gradients: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    #: the variables that a number of this rank's is in, with what they were made of
    numbers: dict[str, list[ast.expr]] = field(default_factory=dict)
    norm: ast.expr | None = None

    @classmethod
    def of(cls, function: _Function, by: str) -> _Flow:
        """What the assignments and loops of a function tell."""
        flow = cls(function, by)
        steps = sorted(_steps(function), key=lambda step: step[1].lineno)
        # what a loop's body assigns its next turn reads
        for targets, value in (*steps, *steps):
            flow._follow(targets, value)
        return flow

    def _follow(self, targets: set[str], value: ast.expr) -> None:
        if self._is_part(value):
            self.parts |= targets
        elif self._measures(value):
            self.norm = self.norm or value
            self._note(targets, value)
        elif self.numbers.keys() & names_in(value):
            self._note(targets, value)
        elif _is_gradient(value):
            self.gradients |= targets

    def _note(self, targets: set[str], value: ast.expr) -> None:
        for name in targets - self.parts:
            self.numbers.setdefault(name, []).append(value)

    def _is_part(self, value: ast.expr) -> bool:
        """Whether it is this rank's part of a gradient, or holds several of them."""
        inner = _behind(value)
        if isinstance(inner, ast.IfExp):
            return self._is_part(inner.body) or self._is_part(inner.orelse)
        if isinstance(inner, (ast.ListComp, ast.GeneratorExp)):
            return self._is_part(inner.elt)
        if isinstance(inner, (ast.List, ast.Tuple)):
            return any(map(self._is_part, inner.elts))
        if isinstance(inner, ast.Call) and last_name(inner.func) in _HANDING_ON:
            return any(map(self._is_part, inner.args))
        return self._takes(inner) or (isinstance(inner, ast.Name) and inner.id in self.parts)

    def _takes(self, value: ast.expr) -> bool:
        """`parameter.grad.to_local()`, or `local(parameter.grad)`"""
        if not isinstance(value, ast.Call):
            return False
        if self.by and last_name(value.func) == self.by:
            of = value.args[:1]
        else:
            of = [value.func.value] if isinstance(value.func, ast.Attribute) and value.func.attr == _LOCAL else []
        owner = _behind(of[0]) if of else None
        return owner is not None and (
            _is_gradient(owner) or (isinstance(owner, ast.Name) and owner.id in self.gradients)
        )  # fmt: skip

    def _measures(self, value: ast.expr) -> bool:
        """Whether a norm in it, or a sum, is of such parts."""
        calls = [n for n in walk(value) if isinstance(n, ast.Call) and last_name(n.func) in _MEASURING]
        return any(self._is_of_parts(call) for call in calls)

    def _is_of_parts(self, call: ast.Call) -> bool:
        return any(isinstance(n, (ast.Name, ast.Call, ast.Attribute)) and self._is_part(n) for n in walk(call))

    def scaled(self) -> Iterator[tuple[ast.expr | ast.AugAssign, ast.expr]]:
        """Where gradients, or parts of them, are multiplied in place, and by what."""
        for node in walk(self.function):
            target, factor = _scaling(node)
            if target is not None and factor is not None and self._is_scaled(target):
                assert isinstance(node, (ast.Call, ast.AugAssign))
                yield node, factor

    def _is_scaled(self, target: ast.expr) -> bool:
        inner = _behind(target)
        whole = isinstance(inner, ast.Name) and inner.id in self.gradients
        return whole or _is_gradient(inner) or self._is_part(inner)

    def is_limited(self, node: ast.expr | ast.AugAssign, factor: ast.expr) -> bool:
        """Whether the factor is made of the norm, and of a limit, or a condition on the norm is around it."""
        made = list(self._made_of(factor, set()))
        own = {name for one in made for name in names_in(one) & self.numbers.keys()}
        if not own:
            return False
        if any(clipped_shares.LIMITS & clipped_shares.called(one) for one in made):
            return True
        return any(clipped_shares.guarded(self.function, node, name) for name in own)

    def _made_of(self, factor: ast.expr, seen: set[str]) -> Iterator[ast.expr]:
        yield factor
        for name in names_in(factor) & self.numbers.keys() - seen:
            seen.add(name)
            for value in self.numbers[name]:
                yield from self._made_of(value, seen)


def _scaling(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """What a statement or call multiplies in place, and by what; nothing of any other."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.Div)):
        return node.target, node.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None, None
    if node.func.attr in _FOREACH and len(node.args) == 2:
        return node.args[0], node.args[1]
    return (node.func.value, node.args[0]) if node.func.attr in _IN_PLACE and len(node.args) == 1 else (None, None)


def _steps(function: _Function) -> Iterator[tuple[set[str], ast.expr]]:
    """What variables are given: by assignments, by loops, and as elements of lists."""
    for node in walk(function):
        if isinstance(node, ast.Assign):
            yield {name for target in node.targets for name in names_in(target)}, node.value
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            yield names_in(node.target), node.value
        elif isinstance(node, (ast.For, ast.comprehension)):
            yield names_in(node.target), node.iter
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
            yield from ((names_in(node.func.value), argument) for argument in node.args)


def _behind(value: ast.expr) -> ast.expr:
    """The tensor that `tensor.detach().float()` or `tensors[0]` is."""
    while True:
        of = value.func if isinstance(value, ast.Call) else value
        if isinstance(of, ast.Attribute) and of.attr in _SAME:
            value = of.value
        elif isinstance(value, ast.Subscript):
            value = value.value
        else:
            return value


def _is_gradient(value: ast.expr) -> bool:
    """`parameter.grad`, one for all of a list, or what is that where there is one"""
    inner = _behind(value)
    if isinstance(inner, (ast.ListComp, ast.GeneratorExp)):
        return _is_gradient(inner.elt)
    return isinstance(inner, ast.Attribute) and inner.attr == "grad"


def _meets(module: Module, flow: _Flow, last: int) -> bool:
    """Whether ranks may bring their norms together before the parts are scaled: by a collective, by a method of
    distributed tensors, or by something that is given the norm."""
    calls = (n for n in walk(flow.function) if isinstance(n, ast.Call) and n.lineno <= last)
    return any(_may_meet(module, call, flow) for call in calls)


def _may_meet(module: Module, call: ast.Call, flow: _Flow) -> bool:
    path = module.imported(call.func)
    if path.startswith(("torch.", "math.", "numpy.")):
        return path.startswith("torch.distributed.")
    given = {name for value in (*call.args, *(k.value for k in call.keywords)) for name in names_in(value)}
    return bool(given & flow.numbers.keys()) and last_name(call.func) not in _ALONE
