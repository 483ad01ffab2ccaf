"""A process group or a barrier in every step

## What it does
Finds `new_group` and similar calls in a `forward`, a step function or a training loop, and as hints those in every
epoch, which are few, and a barrier in every iteration of a training loop, which costs time but breaks nothing, also one
of a framework, such as Accelerate's `wait_for_everyone()`.

## Why it harms
A group is never released: each has its own communicator, buffers and threads, so memory and file descriptors run out
after some hundred steps. Creating a group is itself a collective that all ranks must enter. A barrier in every step
adds its latency to each step and hides which rank is slow; the reduction of the gradients synchronises the ranks
anyway.

## Example
```python
class Layer(nn.Module):
    def forward(self, x):
        group = dist.new_group([0, 1])
        dist.all_reduce(x, group=group)
        return x
```

## Use instead
```python
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.group = dist.new_group([0, 1])
```

## Fix safety
No automatic fix.

## When it is wrong
When the loop runs only a few times. Not reported are a group or barrier under a condition (the first step, every
hundredth, not yet created), behind a cache or outside training, and a loop that creates all groups.

## References
https://docs.pytorch.org/docs/stable/distributed.html#groups
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop
from ddpdoctor.lint.knowledge import collectives, frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import decorator_name, last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD128",
    "group-or-collective-in-hot-path",
    Severity.WARNING,
    advice="make groups once, before the loop, and take out barriers that nothing needs",
)

_GROUPS = tuple(
    f"torch.distributed.{name}"
    for name in ("new_group", "new_subgroups", "new_subgroups_by_enumeration", "split_group", "init_device_mesh",
                 "device_mesh.init_device_mesh")
)  # fmt: skip
_BARRIERS = ("torch.distributed.barrier", "torch.distributed.monitored_barrier")
#: functions that frameworks and loops call once a step
_STEPS = frozenset({"forward", "backward", "training_step", "train_step", "validation_step", "__call__", "step"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Groups in step functions and training loops; barriers in training loops."""
    for call in facts.named(*_GROUPS):
        step = _step_function(call)
        loop = _training_loop(facts, call)
        epochs = _epoch_loop(call)
        if step or any(around is not None and not _conditional(call, around) for around in (loop, epochs)):
            by_epoch = not step and loop is None
            where = f"in every {step}()" if step else "in every epoch" if by_epoch else "in every step"
            name = call.path.rpartition(".")[2]
            message = f"{name} {where}: groups are never released, and creating one needs all ranks; create it once"
            severity = Severity.HINT if by_epoch else Severity.WARNING
            yield facts.finding(RULE, facts.place(call), message, severity=severity)
    for call in (*facts.named(*_BARRIERS), *_of_frameworks(facts)):
        loop = _training_loop(facts, call)
        if loop is not None and not _conditional(call, loop) and call.context.loops[-1] is loop:
            related = ((loop.site, "the training loop"),)
            met = _met_in(facts, loop) or "the gradient reduction"
            message = f"a barrier in every step: {met} already synchronises the ranks"
            yield facts.finding(RULE, facts.place(call), message, related=related, severity=Severity.HINT)


def _of_frameworks(facts: ModuleFacts) -> Iterator[CallEvent]:
    """Barriers that are methods of a framework's object: `accelerator.wait_for_everyone()`."""
    for call in facts.methods("wait_for_everyone", "barrier"):
        made = call.receiver.object if call.receiver is not None else None
        kind = frameworks.kind(made.path) if isinstance(made, Made) else ""
        if call.method in frameworks.METHODS.get(kind, {}):
            yield call


def _step_function(call: CallEvent) -> str:
    """The name of the step function that runs it unconditionally; "" if there is none."""
    function = call.context.function
    if function is None or function.owner is None or function.name not in _STEPS or function.decorators:
        return ""
    node = function.node
    first, last = node.lineno, node.end_lineno or node.lineno
    guarded = any(
        g.site.file == call.site.file and first <= g.site.line <= last for g in call.context.guards
    ) or _under_test(function.body, call.site.line)
    if function.name in ("__call__", "step") and not _is_module(function.owner.node):
        return ""
    return "" if guarded else function.name


def _is_module(node: ast.ClassDef) -> bool:
    return any("Module" in text_of(base) or "Optimizer" in text_of(base) for base in node.bases)


def _under_test(body: list[ast.stmt], line: int) -> bool:
    """A condition that was already decided, such as `is_initialized()`, or a `try` encloses the line."""
    return any(
        isinstance(node, (ast.If, ast.IfExp, ast.BoolOp, ast.Try)) and node.lineno <= line <= (node.end_lineno or 0)
        for statement in body
        for node in walk(statement)
        if not (isinstance(node, ast.If) and _always(node.test))
    )


def _always(test: ast.expr) -> bool:
    """Whether a condition is the same in every step: whether there are several ranks."""
    return isinstance(test, ast.Constant) or heuristics.ASKS_FOR_GROUP.found_in(text_of(test))


def _training_loop(facts: ModuleFacts, call: CallEvent) -> EnclosingLoop | None:
    """The innermost loop over a loader, or with a DDP backward in it, that surely repeats the call."""
    for loop in reversed(call.context.loops):
        if not isinstance(loop.node, (ast.For, ast.While)):
            return None
        ops = facts.looped.get(loop.site, [])
        meets = any(op.op.startswith("backward") for op in ops) or bool(_met_in(facts, loop))
        if meets and _is_over_batches(facts, loop):
            return loop
    return None


def _met_in(facts: ModuleFacts, loop: EnclosingLoop) -> str:
    """The collective besides barriers in which ranks meet in every turn of a loop that goes backward without a
    reduction of gradients that is seen."""
    ops = facts.looped.get(loop.site, [])
    # all that shows it is in the file of the loop: told there, not at each call that leads to it
    elsewhere = loop.site.file != facts.module.path
    if elsewhere or any(op.op.startswith("backward") for op in ops) or not _goes_back(loop.node):
        return ""
    return next((op.op for op in ops if op.op in collectives.PLAIN and op.op != "barrier"), "")


def _epoch_loop(call: CallEvent) -> EnclosingLoop | None:
    """The innermost loop over epochs, if nothing in it destroys groups."""
    for loop in reversed(call.context.loops):
        if loaders.runs_once(loop):
            continue
        if isinstance(loop.node, ast.For) and heuristics.COUNTS_EPOCHS.found_in(loop.target):
            names = {last_name(n.func) for n in walk(loop.node) if isinstance(n, ast.Call)}
            return None if names & set(heuristics.ENDS_GROUP.words) else loop
    return None


def _is_over_batches(facts: ModuleFacts, loop: EnclosingLoop) -> bool:
    """Not a loop over epochs: a barrier in each of them is harmless."""
    if loaders.loader_of(loop.over) is not None or (loop.over is not None and loop.over.tags & Tag.PREPARED):
        return True
    # of one that goes back in a function that it calls, each turn does
    if any(c.context.loops and c.context.loops[-1].site == loop.site for c in facts.methods("backward")):
        return True
    inner = [n for n in walk(loop.node) if isinstance(n, (ast.For, ast.While)) and n is not loop.node]
    counted = text_of(loop.node.test) if isinstance(loop.node, ast.While) else loop.target
    if not heuristics.COUNTS_EPOCHS.found_in(counted):
        # micro-batches, counted: the loop around them takes a step in each turn
        inner = [n for n in inner if not _counts(n)]
    return _goes_back(loop.node) and not any(map(_goes_back, inner))


def _goes_back(loop: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in walk(loop))


def _counts(loop: ast.For | ast.While) -> bool:
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range"


def _may_keep(decorator: str) -> bool:
    """Whether a decorator may run the function once and keep its result."""
    return decorator not in heuristics.PLAIN_DECORATORS.words or "cache" in decorator


def _conditional(call: CallEvent, loop: EnclosingLoop) -> bool:
    """Only in some iterations, or created once and kept."""
    function = call.context.function
    here = _stands_in(call.site, loop.site.file, loop.node)
    inside = [
        g for g in call.context.guards
        if _stands_in(g.site, loop.site.file, loop.node)
        or (not here and function is not None and _stands_in(g.site, call.site.file, function.node))
    ]  # fmt: skip
    if any(not heuristics.ASKS_FOR_GROUP.found_in(g.text) for g in inside):
        return True
    cached = function is not None and any(_may_keep(decorator_name(d)) for d in function.decorators)
    body = loop.node.body if here and isinstance(loop.node, (ast.For, ast.While)) else getattr(function, "body", [])
    return cached or _under_test(body, call.site.line) or call.context.handler in ("except", "finally")


def _stands_in(site: SourceSite, file: str, node: Any) -> bool:
    return bool(site.file == file and node.lineno <= site.line <= node.end_lineno)
