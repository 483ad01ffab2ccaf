"""Where a program itself averages gradients over all ranks, without DDP."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.values.values import WORLD
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import children, last_name, parents, walk

#: what is done to a gradient, or asked of it, and hands it to nobody
_KEEPING = frozenset({
    "mul_", "div_", "add_", "sub_", "zero_", "detach_", "clamp_", "fill_", "requires_grad_", "norm", "item", "abs",
    "sum", "mean", "max", "min", "isnan", "isinf", "isfinite", "any", "all", "shape", "numel", "size",
})  # fmt: skip
#: functions and methods that make a number of a tensor
_MEASURES = frozenset({"norm", "vector_norm", "sum", "mean", "max", "min", "item", "isnan", "isinf", "isfinite"})
#: variables between the gradient and the tensor that is reduced: a copy of it, a list of them, one flat tensor
_STEPS = 3


def calls(facts: ModuleFacts) -> list[CallEvent]:
    """All `all_reduce(p.grad)`, also of a variable that a gradient was put into."""
    made: dict[ast.AST, list[ast.Assign]] = {}
    return [c for c in facts.named("torch.distributed.all_reduce") if _of_gradient(facts, c, made)]


def may_be_by_hand(facts: ModuleFacts) -> bool:
    """Whether a file hands gradients on to what may average them: those that it only scales, measures or forgets stay
    what they are."""
    modules = (module for module in facts.modules if "grad" in module.words)
    return any(map(may_be_in, modules))


@once
def may_be_in(module: Module) -> bool:
    """Whether it may be by the lines of this file."""
    return any(map(_hands_on, _uses(module)))


def _uses(module: Module) -> Iterator[ast.AST | None]:
    """What is done to each gradient that is read: `mul_` of `p.grad.data.mul_`."""
    read = [node for node in module.of(ast.Attribute) if node.attr == "grad" and not isinstance(node.ctx, ast.Store)]
    around = parents(walk(module.tree)) if read else {}
    for node in read:
        use = around.get(node)
        while isinstance(use, ast.Attribute) and use.attr in ("data", "float"):
            use = around.get(use)
        yield use


def _hands_on(use: ast.AST | None) -> bool:
    if isinstance(use, ast.Attribute):
        return use.attr not in _KEEPING
    return not isinstance(use, (ast.Compare, ast.If, ast.BoolOp, ast.UnaryOp, ast.Expr, ast.Delete))


def is_averaging(averaged: list[CallEvent], op: Op) -> bool:
    """Whether a collective is one of these calls, over all ranks of the job and not those of a part of it."""
    everywhere = op.members is None or op.members == tuple(range(WORLD))
    return everywhere and any(call.site == op.site for call in averaged)


def _of_gradient(facts: ModuleFacts, call: CallEvent, known: dict[ast.AST, list[ast.Assign]]) -> bool:
    """`known`: the assignments of the functions that were looked at before."""
    tensor = call.node.args[0] if call.node.args else None
    module = blocks.module_of(facts, call.site)
    if tensor is None or module is None or "grad" not in module.words:
        return False
    scope = innermost_function(module.tree, call.site.line)
    if scope is not None and scope not in known:
        known[scope] = [n for n in walk(scope) if isinstance(n, ast.Assign)]
    made = known[scope] if scope is not None else []
    read = [tensor]
    for _ in range(_STEPS):
        nodes = [n for expr in read for n in _unmeasured(expr)]
        if any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in nodes):
            return True
        read = _sources(made, {n.id for n in nodes if isinstance(n, ast.Name)})
    return False


def _unmeasured(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its parts, without what a norm or sum is taken of: `p.grad.pow(2).sum()` is no gradient any more."""
    if isinstance(node, ast.Call) and last_name(node.func) in _MEASURES:
        return
    yield node
    for child in children(node):
        yield from _unmeasured(child)


def _sources(made: list[ast.Assign], names: set[str]) -> list[ast.expr]:
    """What these variables are made of."""
    return [a.value for a in made if any(isinstance(t, ast.Name) and t.id in names for t in a.targets)]
