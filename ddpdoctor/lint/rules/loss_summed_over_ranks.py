"""A loss that is summed over the ranks is taken for a mean, or goes backward

## What it does
Finds an `all_reduce` that sums a loss over the ranks, where the sum is shown without a division; and one that changes
the loss itself, which is divided by the number of ranks and then goes backward.

## Why it harms
The number that is logged grows with the number of ranks: it cannot be compared with that of another run, and looks like
a network that learns worse. `all_reduce` knows nothing of gradients: the loss that goes backward has the value of all
ranks and the gradient of this one. The wrapper averages gradients by itself, so the division makes them too small once
more, as a learning rate would that is divided by the number of ranks.

## Example
```python
shown = loss.clone().detach()
dist.all_reduce(shown)
meter.update(shown.item())
```

## Use instead
```python
shown = loss.clone().detach()
dist.all_reduce(shown, dist.ReduceOp.AVG)
meter.update(shown.item())
```

## Fix safety
No automatic fix.

## When it is wrong
When a sum is meant, as of a loss that each rank has divided by the number of samples of all ranks in a place that lint
cannot see; or when what shows the number divides it. A sum that anything in the function divides, multiplies or returns
is not reported as a sum that is shown.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import External
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD184",
    "loss-summed-over-ranks",
    Severity.WARNING,
    advice="reduce a detached copy with ReduceOp.AVG, and let the loss itself go backward",
)

_SCALES = (ast.Div, ast.Mult, ast.FloorDiv)
_SCALING = frozenset({"div", "div_", "mul", "mul_", "true_divide", "mean", "average"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Losses of this rank that are summed in place."""
    for call in {c.site: c for c in facts.named("torch.distributed.all_reduce")}.values():
        function = innermost_function(facts.module.tree, call.site.line)
        loss = call.node.args[0] if call.node.args else None
        if (
            function is None
            or call.site.file != facts.module.path
            or not isinstance(loss, ast.Name)
            or not _is_summed_loss(call)
        ):
            continue
        later = [n for n in walk(function) if getattr(n, "lineno", 0) > call.site.end_line]
        divided = call.args[0].tags & Tag.WORLD or any(_divides(n, loss.id) for n in later)
        if divided and not call.context.no_grad and _goes_backward(later, loss.id):
            message = (
                f"`{loss.id}` has the value of all ranks and the gradient of this one, which the wrapper averages by "
                "itself: the division makes it too small"
            )
            yield facts.finding(RULE, call.site, message, context=call.context)
        elif not divided and not _is_scaled(walk(function), loss.id) and _is_shown(later, loss.id):
            message = f"`{loss.id}` is the sum over the ranks, and shown as it is: divide it by the number of ranks"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _is_summed_loss(call: CallEvent) -> bool:
    """Whether it sums, over all ranks, what the network of this rank gave for its batch."""
    op, group = call.argument(1, "op"), call.argument(2, "group")
    summed = op is None or (isinstance(op.object, External) and op.object.path.endswith(".SUM"))
    tags, taint = call.args[0].tags, call.args[0].taint
    own = taint is not Taint.UNIFORM and bool(
        tags & (Tag.DDP | Tag.DETACHED) or (tags & Tag.BATCH and taint is Taint.RANK_LOCAL)
    )
    return summed and own and group is None and heuristics.IS_LOSS.found_in(text_of(call.node.args[0]))


def _divides(node: ast.AST, name: str) -> bool:
    """`loss / world_size`, `loss /= world_size`, `loss.div_(world_size)`."""
    of: ast.expr
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
        of, by = node.target, node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        of, by = node.left, node.right
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr not in ("div", "div_"):
            return False
        of, by = node.func.value, node.args[0]
    else:
        return False
    return name in names_in(of) and heuristics.NUMBER_OF_RANKS.found_in(text_of(by))


def _is_scaled(nodes: list[ast.AST], name: str) -> bool:
    """Whether anything in the function divides or multiplies it, in whatever way, or gives it back."""
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, _SCALES) and name in names_in(node.target):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, _SCALES) and name in names_in(node):
            return True
        if isinstance(node, ast.Call) and last_name(node.func) in _SCALING and name in names_in(node):
            return True
        if isinstance(node, ast.Assign) and name in names_in(node.targets[0]) and _is_divided(node.value):
            return True
        if isinstance(node, ast.Return) and node.value is not None and name in names_in(node.value):
            return True
    return False


def _is_divided(value: ast.expr) -> bool:
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in walk(value))


def _is_shown(later: list[ast.AST], name: str) -> bool:
    """Whether a call that shows numbers is given it as it is."""
    for node in later:
        if isinstance(node, ast.Call) and heuristics.SHOWS.found_in(last_name(node.func)):
            given = [*node.args, *(k.value for k in node.keywords)]
            if any(_is_it(n, name) for value in given for n in walk(value)):
                return True
    return False


def _is_it(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _goes_backward(later: list[ast.AST], name: str) -> bool:
    """Whether it, or what is made of it, goes backward."""
    names = {name}
    for node in later:
        if isinstance(node, ast.Assign) and names & _carried(node.value):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
        and bool(names & names_in(node))
        for node in later
    )


#: methods that leave the gradient behind
_LEAVES_GRADIENT = frozenset({"detach", "item"})


def _carried(value: ast.expr) -> set[str]:
    """Names in an expression whose gradients it has."""
    left = {id(n.func.value) for n in walk(value) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
            and n.func.attr in _LEAVES_GRADIENT}  # fmt: skip
    dropped = {name for n in walk(value) if id(n) in left for name in names_in(n)}
    return names_in(value) - dropped
