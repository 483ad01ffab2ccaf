"""Parts of networks that are computed again in the backward pass, and which of them run several times in one forward
pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import combinations
from typing import TypeAlias

from ddpdoctor.lint.facts import networks
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Class
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import record
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import children, dotted, names_in, walk

CHECKPOINT = "torch.utils.checkpoint.checkpoint"
#: methods of a class that call one another, variables in one another
_DEPTH = 4
#: layers of torch that have parameters begin with one of these
_LAYERS = (
    "Linear", "Conv", "Embedding", "LayerNorm", "BatchNorm", "GroupNorm", "RMSNorm", "Bilinear", "LSTM", "GRU", "RNN",
    "MultiheadAttention", "Transformer", "Parameter", "PReLU", "LazyLinear", "LazyConv",
)  # fmt: skip
#: where gradients stop, or are switched off: which of several passes goes backward is not seen
_CUTS = frozenset({"no_grad", "inference_mode", "set_grad_enabled", "detach", "detach_", "requires_grad"})
#: conditions that hold in every forward pass of a training
_TRAINS = frozenset({"self.training", "torch.is_grad_enabled"})
#: what switches gradients of a part off and on
_SWITCHES = frozenset({"requires_grad", "requires_grad_"})
_Loop: TypeAlias = "ast.For | ast.While | ast.comprehension"


@record(frozen=True, slots=True, eq=False)
class _Place:
    """What is around a node in a function."""

    loops: tuple[_Loop, ...] = ()
    #: conditions, and the side on which the node is
    tests: tuple[tuple[ast.expr, ast.AST, bool], ...] = ()


class Checkpointed(NamedTuple):
    """A call of `checkpoint` in a forward pass of a class, which recomputes what it is given in a backward pass of its
    own."""

    owner: ClassInfo
    #: the method that it is in
    method: FunctionInfo
    node: ast.Call
    #: what is recomputed, by the names of the method in which the forward pass begins
    part: ast.expr
    #: loops around it, outermost first, and conditions, also those of the methods that lead to it
    loops: tuple[_Loop, ...]
    tests: tuple[tuple[ast.expr, ast.AST, bool], ...]


def found(machine: Machine, network: Value) -> list[Checkpointed]:
    """All that recompute a part with parameters by a backward pass of its own."""
    calls: list[Checkpointed] = []
    for info in _classes(machine, networks.classes(machine, network)):
        forward = info.methods.get("forward")
        if forward is not None and "checkpoint" in info.module.words:
            reader = _Reader(machine, info)
            calls += (one for one in reader.calls(forward, {}, _Place(), ()) if reader.learns(one.part))
    return calls


def _classes(machine: Machine, infos: Iterable[ClassInfo]) -> list[ClassInfo]:
    """The classes, and those of which their constructors make objects."""
    waiting = list(infos)
    for info in waiting:
        init = find_method(machine, info, "__init__")
        more = _made_in(machine, init) if init is not None and len(waiting) < _MOST else []
        waiting += [one for one in more if one not in waiting]
    return waiting


#: most classes that are looked at for one network
_MOST = 24


def _made_in(machine: Machine, maker: FunctionInfo) -> list[ClassInfo]:
    called = {n.func.id for n in walk(maker.node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    values = (global_value(machine, maker.module, name) for name in sorted(called))
    return [value.object.info for value in values if value is not None and isinstance(value.object, Class)]


def repeated(calls: list[Checkpointed]) -> Iterator[tuple[Checkpointed, Checkpointed]]:
    """Those that recompute the same part more than once in a forward pass: one in a loop, or two."""
    for one in calls:
        if any(_in_each_turn(one, loop) for loop in one.loops):
            yield one, one
    for one, other in combinations(calls, 2):
        if one.method is other.method and one.node is not other.node and _same(one, other):
            yield other, one


def _same(one: Checkpointed, other: Checkpointed) -> bool:
    """Whether a forward pass comes to both, and they recompute one part."""
    if one.loops != other.loops or ast.dump(one.part) != ast.dump(other.part):
        return False
    base = one.part
    bound = {name for loop in one.loops for name in _targets(loop)}
    known = _of_self(base) or (isinstance(base, ast.Name) and base.id in bound)
    return known and not _cut(one.method.node) and not _exclusive(one, other)


def _exclusive(one: Checkpointed, other: Checkpointed) -> bool:
    """Whether they are on two sides of a condition, or one leaves where the other is not reached any more."""
    sides = {id(node): side for _, node, side in one.tests}
    if any(sides.get(id(node), side) is not side for _, node, side in other.tests):
        return True
    common = sides.keys() & {id(node) for _, node, _ in other.tests}
    own = (node for item in (one, other) for _, node, _ in item.tests if id(node) not in common)
    return any(_leaves(node) for node in own)


def _in_each_turn(one: Checkpointed, loop: _Loop) -> bool:
    """Whether a loop recomputes the same part in each of its turns, or in several of them."""
    bound = _targets(loop) | _counted(loop)
    depends = any(not names_in(test).isdisjoint(bound) for test, _, _ in one.tests)
    if depends or _once(loop) or _leaves(loop) or _cut(one.method.node) or _cut(loop) or not _of_self(one.part):
        return False
    return names_in(one.part).isdisjoint(bound | _assigned(loop)) or _several_turns(one.part, bound)


def _of_self(part: ast.expr) -> bool:
    """`self.block`, `self.blocks[...]`"""
    base = part.value if isinstance(part, ast.Subscript) else part
    return len(parts := dotted(base)) > 1 and parts[0] == "self"


def _several_turns(part: ast.expr, bound: set[str]) -> bool:
    """`self.blocks[i // 3]`, `self.blocks[i % 2]`: an element for several turns."""
    index = part.slice if isinstance(part, ast.Subscript) else None
    shared = isinstance(index, ast.BinOp) and isinstance(index.op, (ast.FloorDiv, ast.Mod))
    return shared and isinstance(index, ast.BinOp) and not names_in(index.left).isdisjoint(bound)


def _targets(loop: _Loop) -> set[str]:
    return set() if isinstance(loop, ast.While) else names_in(loop.target)


def _counted(loop: _Loop) -> set[str]:
    """What the turns of a loop count."""
    return {n.target.id for n in walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}


def _assigned(loop: _Loop) -> set[str]:
    names = (n.targets for n in walk(loop) if isinstance(n, ast.Assign))
    return {name for targets in names for target in targets for name in names_in(target) if name != "self"}


def _once(loop: _Loop) -> bool:
    """`for _ in range(1)`"""
    over = loop.iter if not isinstance(loop, ast.While) else None
    if isinstance(over, ast.Call) and len(over.args) == 1 and isinstance(over.args[0], ast.Constant):
        return over.args[0].value in (0, 1)
    return isinstance(over, (ast.List, ast.Tuple)) and len(over.elts) < 2


def _leaves(node: ast.AST) -> bool:
    return any(isinstance(n, (ast.Return, ast.Break, ast.Raise, ast.Continue)) for n in walk(node))


def _cut(node: ast.AST) -> bool:
    return any(isinstance(n, (ast.Attribute, ast.Name)) and dotted(n)[-1:] and dotted(n)[-1] in _CUTS
               for n in walk(node))  # fmt: skip


def options(one: Checkpointed) -> list[ast.expr]:
    """Conditions under which it is called, besides that the network is trained."""
    parts = (part for test, _, side in one.tests for part in _operands(test if side else _denied(test)))
    return [part for part in parts if ".".join(_asked(part)) not in _TRAINS and not isinstance(part, ast.Constant)]


def _operands(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _denied(test: ast.expr) -> ast.expr:
    denies = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return test.operand if denies and isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), test)


def _asked(test: ast.expr) -> list[str]:
    return dotted(test.func if isinstance(test, ast.Call) else test)


class _Reader:
    """Reads the methods of one class."""

    def __init__(self, machine: Machine, owner: ClassInfo) -> None:
        self._machine = machine
        self._owner = owner

    def calls(
        self, method: FunctionInfo, given: Mapping[str, ast.expr], place: _Place, stack: tuple[FunctionInfo, ...]
    ) -> Iterator[Checkpointed]:
        """The calls in a method and in those that it calls; `given`: its arguments, by the names of the first one."""
        if len(stack) >= _DEPTH or method in stack:
            return
        names = {**_single(method), **given}
        for node, inner in _placed(method.node, place):
            tests = tuple((self._plain(t, names), at, side) for t, at, side in inner.tests[len(place.tests) :])
            around = _Place(inner.loops, (*place.tests, *tests))
            if _is_reentrant(method, node):
                part = self._plain(node.args[0], names)
                yield Checkpointed(self._owner, method, node, part, around.loops, around.tests)
            elif (called := self._own_method(node)) is not None:
                arguments = {name: self._plain(value, names) for name, value in _given(called, node).items()}
                yield from self.calls(called, arguments, around, (*stack, method))

    def _own_method(self, node: ast.Call) -> FunctionInfo | None:
        path = dotted(node.func)
        return self._owner.methods.get(path[1]) if len(path) == 2 and path[0] == "self" else None

    def _plain(self, node: ast.expr, names: Mapping[str, ast.expr], depth: int = _DEPTH) -> ast.expr:
        """An expression in which variables, and methods that only return one, are replaced by what they are."""
        reader = self

        class Replacing(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                known = names.get(name.id)
                return reader._plain(known, names, depth - 1) if known is not None and depth else name

            def visit_Call(self, call: ast.Call) -> ast.AST:
                returned = reader._returned(call)
                if returned is None or not depth:
                    return self.generic_visit(call)
                method, value = returned
                return reader._plain(reader._plain(value, _given(method, call), 1), names, depth - 1)

        changed = Replacing().visit(deepcopy(node))
        assert isinstance(changed, ast.expr)
        return changed

    def _returned(self, call: ast.Call) -> tuple[FunctionInfo, ast.expr] | None:
        """A method of the class that consists of one `return`, and what it returns."""
        method = self._own_method(call)
        last = method.body[0] if method is not None and len(method.body) == 1 else None
        return (method, last.value) if method is not None and isinstance(last, ast.Return) and last.value else None

    def learns(self, part: ast.expr, depth: int = 2) -> bool:
        """Whether a part of the network has parameters, as far as the source shows."""
        path = dotted(part.value if isinstance(part, ast.Subscript) else part)
        if len(path) != 2 or path[0] != "self":
            return len(path) == 1  # an element of something that is gone through
        method = self._owner.methods.get(path[1])
        if method is not None:
            inside = [n for n in walk(method.node) if isinstance(n, ast.Attribute) and dotted(n)[:1] == ["self"]]
            return depth > 0 and any(self.learns(n, depth - 1) for n in inside)
        return any(self._makes_layers(value) for value in self._stored(path[1])) and not self._is_frozen(path[1])

    def _is_frozen(self, name: str) -> bool:
        """Whether the class says, in one statement, something of the gradients of a part: that they are off, often."""
        for node in walk(self._owner.node):
            if isinstance(node, (ast.For, ast.Expr, ast.Assign)):
                attributes = {n.attr for n in walk(node) if isinstance(n, ast.Attribute)}
                if name in attributes and not attributes.isdisjoint(_SWITCHES):
                    return True
        return False

    def _stored(self, name: str) -> Iterator[ast.expr]:
        for method in self._owner.stores.get(name, ()):
            for node in walk(method.node):
                if isinstance(node, ast.Assign) and any(dotted(t) == ["self", name] for t in node.targets):
                    yield node.value

    def _makes_layers(self, value: ast.AST, depth: int = 2) -> bool:
        module = self._owner.module
        for node in walk(value):
            if not isinstance(node, ast.Call):
                continue
            path = module.imported(node.func)
            if path.startswith("torch.nn.") and path.rpartition(".")[2].startswith(_LAYERS):
                return True
            made = global_value(self._machine, module, node.func.id) if isinstance(node.func, ast.Name) else None
            if made is not None and isinstance(made.object, Class) and depth:
                inside = _Reader(self._machine, made.object.info)
                if inside._makes_layers(made.object.info.node, depth - 1):
                    return True
        return False


def _is_reentrant(method: FunctionInfo, node: ast.Call) -> bool:
    """Whether it is torch's function, which goes backward by itself unless it is told not to."""
    if aliases.canonical(method.module.imported(node.func)) != CHECKPOINT or not node.args:
        return False
    if any(keyword.arg is None for keyword in node.keywords):
        return False
    said = next((k.value for k in node.keywords if k.arg == "use_reentrant"), None)
    return said is None or (isinstance(said, ast.Constant) and said.value is True)


def _given(method: FunctionInfo, call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call of a method, by the names of its parameters."""
    names = method.signature.positional[1:]
    by_name = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    return {**dict(zip(names, call.args, strict=False)), **by_name}


def _single(method: FunctionInfo) -> dict[str, ast.expr]:
    """Variables of a method that are assigned in one place, to something else."""
    values: dict[str, list[ast.expr | None]] = {}
    for node in walk(method.node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in names_in(target):
                    values.setdefault(name, []).append(node.value if isinstance(target, ast.Name) else None)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.comprehension, ast.NamedExpr)):
            for name in names_in(node.target):
                values.setdefault(name, []).append(None)
    for name in method.signature.bound:
        values.setdefault(name, []).append(None)
    plain = {name: given[0] for name, given in values.items() if len(given) == 1}
    return {name: value for name, value in plain.items() if value is not None and name not in names_in(value)}


def _placed(node: ast.AST, place: _Place) -> Iterator[tuple[ast.Call, _Place]]:
    """The calls in a node, with what is around them; not those of functions that are defined there."""
    for child in children(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        inner = _inside(node, child, place)
        if isinstance(child, ast.Call):
            yield child, inner
        yield from _placed(child, inner)


def _inside(node: ast.AST, child: ast.AST, place: _Place) -> _Place:
    if isinstance(node, (ast.For, ast.While)) and child in node.body:
        return _Place((*place.loops, node), place.tests)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and child is node.elt:
        return _Place((*place.loops, *node.generators), place.tests)
    if isinstance(node, (ast.If, ast.IfExp)) and child is not node.test:
        side = child is node.body if isinstance(node, ast.IfExp) else child in node.body
        return _Place(place.loops, (*place.tests, (node.test, node, side)))
    return place
