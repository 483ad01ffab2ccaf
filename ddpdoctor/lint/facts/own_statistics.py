"""Where statistics of one batch go into something that outlives the batch: a moving average, a queue."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ddpdoctor.lint.facts import networks
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of


class Kept(NamedTuple):
    """A statement that puts data of a batch into what is kept, and how that is written."""

    node: ast.AST
    target: str
    module: Module
    #: what leads there: the call of something else in the same function, or the wrapper whose network does it
    call: CallEvent
    is_queue: bool = False
    #: it is a buffer of a module that computes by it, and that is in no wrapper of the networks that are
    is_apart: bool = False


#: what a batch is summed up by, along its samples
_SUMS = frozenset({"mean", "sum", "var", "std"})
#: counts of the classes in a batch
_COUNTS = frozenset({"bincount", "histc"})


def found(facts: ModuleFacts) -> Iterator[Kept]:
    """The first of each function that all ranks run in a training loop, and of each method of a wrapped network, if
    nothing near it brings ranks together."""
    for function, calls in _in_training(facts).items():
        own = {id(c.node): c for c in calls if not _is_agreed(c)}
        if not _has_queue(function.module) and not any(_sums_batch(c.node) for c in own.values()):
            continue
        if own and not heuristics.BRINGS_TOGETHER.found_in(_source(function.module, function.node)):
            for kept in itertools.islice(_of_function(function, own), 1):
                yield kept._replace(is_apart=_is_apart(facts, function, kept))
    for call in facts.named(*DDP_PATHS):
        for info in networks.classes(facts.analysis, call.args[0]) if call.args else ():
            if not heuristics.BRINGS_TOGETHER.found_in(_source(info.module, info.node)):
                yield from _of_network(info, call)


def _is_apart(facts: ModuleFacts, function: FunctionInfo, kept: Kept) -> bool:
    """Whether a module keeps it as a buffer by which it computes, where other networks are in wrappers, but not the
    module, nor what calls it."""
    info, name = function.owner, kept.target.removeprefix("self.")
    if info is None or kept.is_queue or kept.target != f"self.{name}":
        return False
    if name not in _buffers(info) or not _is_read_elsewhere(info, function, name) or _hands_out(function, kept):
        return False
    calls = kept.call.context.calls
    first = next((at for at, one in enumerate(calls) if one.startswith(f"{info.name}.")), -1)
    if first < 0 or any(one.endswith(".forward") for one in calls[:first]):
        return False
    if heuristics.BRINGS_TOGETHER.found_in(_source(info.module, info.node)):
        return False
    wrapped = [call.args[0] for call in facts.named(*DDP_PATHS) if call.args]
    return bool(wrapped) and not any(info in networks.closure(facts.analysis, network) for network in wrapped)


def _hands_out(function: FunctionInfo, kept: Kept) -> bool:
    """Whether it gives a variable of its own to something else whose result nobody takes, which may change it:
    `reduce(mean)`."""
    nodes = walk(function.node)
    own = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    calls = (n.value for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
    given = (argument for call in calls if call is not kept.node for argument in call.args)
    return any(isinstance(argument, ast.Name) and argument.id in own for argument in given)


def _buffers(info: ClassInfo) -> set[str]:
    """The names of the buffers that a module registers itself."""
    calls = (n for method in info.methods.values() for n in walk(method.node) if isinstance(n, ast.Call))
    given = (call.args[0] for call in calls if last_name(call.func) == "register_buffer" and call.args)
    return {str(name.value) for name in given if isinstance(name, ast.Constant)}


def _is_read_elsewhere(info: ClassInfo, function: FunctionInfo, name: str) -> bool:
    """Whether another method of a class than this one reads an attribute, to compute by it."""
    others = (method for method in info.methods.values() if method is not function and method.name != "__init__")
    return any(isinstance(n, ast.Attribute) and n.attr == name for method in others for n in walk(method.node))


def _in_training(facts: ModuleFacts) -> dict[FunctionInfo, list[CallEvent]]:
    """Functions that run in a loop that also goes backward, each with the calls in it."""
    turns = {loop.site for c in facts.methods("backward") for loop in c.context.loops}
    found: dict[FunctionInfo, list[CallEvent]] = {}
    for call in facts.calls if turns else ():
        context = call.context
        if context.function is None or context.some_ranks_only:
            continue
        if any(loop.site in turns for loop in context.loops):
            found.setdefault(context.function, []).append(call)
    return found


def _has_queue(module: Module) -> bool:
    return any("ptr" in word for word in module.words) and any("queue" in word for word in module.words)


def _is_agreed(call: CallEvent) -> bool:
    """Whether what it is given is the same on all ranks, or may have been brought together."""
    given = call.args if call.receiver is None else (call.receiver, *call.args)
    return any(value.tags & Tag.AGREED for value in given) or all(value.taint is Taint.UNIFORM for value in given)


def _source(module: Module, node: ast.AST) -> str:
    return "\n".join(module.lines[getattr(node, "lineno", 1) - 1 : getattr(node, "end_lineno", None)])


def _of_network(info: ClassInfo, wrapper: CallEvent) -> Iterator[Kept]:
    for method in info.methods.values():
        calls = (node for node in walk(method.node) if isinstance(node, ast.Call))
        yield from itertools.islice(_of_function(method, {id(node): wrapper for node in calls}), 1)


def _of_function(function: FunctionInfo, own: dict[int, CallEvent]) -> Iterator[Kept]:
    """`own`: the calls in it that may be given data of a batch."""
    nodes, module = walk(function.node), function.module
    sums = [n for n in nodes if isinstance(n, ast.Call) and id(n) in own and _sums_batch(n)]
    names = {t.id for n in nodes if isinstance(n, ast.Assign) and any(s in sums for s in walk(n.value))
             for t in n.targets if isinstance(t, ast.Name)} if sums else set()  # fmt: skip
    for node in nodes:
        moved = _moved(node)
        if moved is not None and _is_of_batch(moved[1], sums, names) and not _is_plain(moved[0]):
            yield Kept(node, moved[0], module, own[id(sums[0])])
        elif isinstance(node, ast.Assign) and _is_queue(node.targets[0]):
            yield Kept(node, text_of(node.targets[0]), module, next(iter(own.values())), is_queue=True)


def _is_of_batch(added: ast.expr, sums: list[ast.Call], names: set[str]) -> bool:
    return any(n in sums or (isinstance(n, ast.Name) and n.id in names) for n in walk(added))


def _is_plain(target: str) -> bool:
    """What is only shown, or what every batch norm keeps of its own."""
    return heuristics.ONLY_SHOWN.found_in(target)


def _sums_batch(call: ast.Call) -> bool:
    """`x.mean(0)`, `torch.sum(x, dim=0)`, `torch.bincount(x)`."""
    name = last_name(call.func)
    if name not in _SUMS:
        return name in _COUNTS
    axes = [k.value for k in call.keywords if k.arg in ("dim", "axis")] or call.args[:2]
    return any(isinstance(axis, ast.Constant) and axis.value == 0 and axis.value is not False for axis in axes)


def _moved(node: ast.AST) -> tuple[str, ast.expr] | None:
    """What a moving average is kept in, and what is added to it: `a = a * 0.9 + b * 0.1`, `a.mul_(0.9).add_(b)`,
    `a.lerp_(b, 0.1)`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
        target, sides = text_of(node.targets[0]), (node.value.left, node.value.right)
        added = (new for old, new in (sides, sides[::-1]) if _is_part(old, target))
        return next(((target, new) for new in added), None)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        kept = _in_place(node.func)
        return (_kept(kept), node.args[0]) if kept is not None else None
    return None


def _is_part(product: ast.expr, target: str) -> bool:
    """`a * 0.9`"""
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return False
    return target in (_kept(product.left), _kept(product.right))


def _in_place(method: ast.Attribute) -> ast.expr | None:
    """The average that is moved by a method."""
    if method.attr == "lerp_":
        return method.value
    shrunk = method.value.func if method.attr == "add_" and isinstance(method.value, ast.Call) else None
    return shrunk.value if isinstance(shrunk, ast.Attribute) and shrunk.attr == "mul_" else None


def _kept(node: ast.expr) -> str:
    """How a variable is written, without `.data`."""
    while isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return text_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _is_queue(target: ast.expr) -> bool:
    """`self.queue[:, ptr : ptr + n] = ...`"""
    if not isinstance(target, ast.Subscript) or "queue" not in last_name(target.value):
        return False
    return any("ptr" in last_name(n) for n in walk(target.slice) if isinstance(n, (ast.Name, ast.Attribute)))
