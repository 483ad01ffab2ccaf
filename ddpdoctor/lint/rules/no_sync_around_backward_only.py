"""no_sync around the backward pass only, around every pass, or around none of several

## What it does
Finds a backward pass under `model.no_sync()` whose forward pass is outside it; and, as an error, a program whose every
backward pass through the wrapper is under `no_sync`, forward included. As a hint, it finds gradients that are
accumulated without `no_sync`: a loop over micro-batches with the optimizer's step behind it, or a step that is made
every so many batches (`if (i + 1) % every == 0`); and Accelerate's `accumulate(model)` that is given the network as it
was before `prepare`.

## Why it harms
DDP decides in the forward pass whether the next backward pass averages gradients. With only the backward pass inside,
gradients are averaged anyway, and accumulation saves nothing. With every pass inside, gradients are never averaged:
each rank trains a model of its own. Without it, every micro-batch waits for all gradients to be averaged, although
only their sum is used: with eight micro-batches, eight times as much is communicated as is needed. `accumulate` asks
the model that it is given for its `no_sync`, which the bare network does not have.

## Example
```python
loss = criterion(model(x), y)
with model.no_sync():
    loss.backward()
```

## Use instead
```python
with model.no_sync():
    loss = criterion(model(x), y)
    loss.backward()
```

## Fix safety
No automatic fix.

## When it is wrong
When another forward pass through the same model runs inside, in a function that could not be followed; or when another
file goes through the wrapper outside of `no_sync`. A program that averages gradients itself is not reported. Where the
number of micro-batches is an option that stays 1, nothing is lost without `no_sync`. Not reported are: FSDP, where
`no_sync` takes memory; a loop through several networks; and steps of two optimizers that take turns.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.no_sync
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import accumulation, averaged_gradients
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import contexts, wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name

RULE = LintRule(
    "DD167",
    "no-sync-around-backward-only",
    Severity.ERROR,
    advice="put both passes inside no_sync(), but those of every last micro-batch outside",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Backward passes under no_sync in functions whose forward passes through the wrapper are only outside it."""
    forwards = [c for c in facts.methods("__call__") if wrapping.is_wrapped(c.receiver)]
    passes = [c for c in facts.methods("backward") if c.receiver is not None and c.receiver.tags & Tag.DDP]
    if forwards and passes and all(_is_written_inside(facts, c) for c in (*passes, *forwards)):
        yield from _never(facts, passes[0])
        return
    yield from _without(facts)
    yield from _bare(facts)
    for call in facts.methods("backward"):
        context = call.context
        if not _unshared(call) or call.receiver is None or not call.receiver.tags & Tag.DDP:
            continue
        depth = len(context.calls)
        here = [c for c in forwards if c.context.calls[:depth] == context.calls and c.index < call.index]
        if here and not any(_unshared(c) and _same(c, here[-1]) for c in forwards):
            message = "gradients are averaged anyway: the forward pass must be under no_sync as well"
            yield facts.finding(
                *(RULE, call.site, message),
                related=((here[-1].site, "the forward pass"),),
                context=call.context,
                severity=Severity.HINT,
            )


def _never(facts: ModuleFacts, call: CallEvent) -> Iterator[Finding | None]:
    if not averaged_gradients.may_be_by_hand(facts):
        message = "every pass is under no_sync: gradients are never averaged, and each rank trains its own model"
        yield facts.finding(RULE, call.site, message, context=call.context)


def _without(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Micro-batches of which each averages all gradients."""
    if facts.suggests(heuristics.SYNCHRONISES_SOME):
        return
    for backward, step, loop, in_turns in accumulation.found(facts):
        condition = "where one step is made for several batches, " if in_turns else ""
        message = Conditional(
            condition,
            "gradients are averaged in the backward pass of every micro-batch, though only their sum is used: run all "
            "but the last one before each step under no_sync()",
        )
        related = ((loop.site, "the loop over micro-batches"), (step.site, "the step"))
        yield facts.finding(
            RULE, backward.site, message, related=related, context=backward.context, severity=Severity.HINT
        )


def _bare(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Accelerate's `accumulate` of a network that only `prepare` has wrapped, or of a part of it."""
    calls = [c for c in facts.methods("accumulate") if _of_accelerate(c)]
    prepared = [v for c in facts.methods("prepare", "prepare_model") if calls and _of_accelerate(c) for v in c.args]
    for call in calls:
        if call.args and all(_is_before(value, prepared) for value in call.args):
            message = (
                "accumulate is given the network as it was before prepare(), which has no no_sync: every micro-batch "
                "averages all gradients; give it the prepared model"
            )
            yield facts.finding(RULE, call.site, message, context=call.context, severity=Severity.HINT)


def _of_accelerate(call: CallEvent) -> bool:
    made = call.receiver.object if call.receiver is not None else None
    return isinstance(made, Made) and frameworks.kind(made.path) == frameworks.ACCELERATOR


def _is_before(value: Value, prepared: list[Value]) -> bool:
    """Whether a network is not prepared, and one that was prepared is the same or has it as a part."""
    key = symbol_key(value)
    if key is None or value.tags & (Tag.PREPARED | Tag.WRAPPED):
        return False
    return any(key in {symbol_key(v) for v in (one, *_given(one))} for one in prepared)


def _given(value: Value) -> tuple[Value, ...]:
    """What an object was made of."""
    obj = value.object
    return (*obj.args, *(v for _, v in obj.keywords)) if isinstance(obj, Instance) else ()


def _is_written_inside(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the function itself has the call under no_sync, whoever calls the function."""
    node: ast.AST | None = call.node if "no_sync" in call.context.withs else None
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(node, ast.With) and any(last_name(_called(item)) == "no_sync" for item in node.items):
            return True
        node = facts.parents.get(node)
    return False


def _called(item: ast.withitem) -> ast.expr:
    return item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr


def _unshared(call: CallEvent) -> bool:
    return "no_sync" in call.context.withs or contexts.MAYBE_UNSHARED in call.context.withs


def _same(one: CallEvent, two: CallEvent) -> bool:
    """Forward passes of one model, as far as it is known where each was wrapped."""
    models = [c.receiver.object for c in (one, two) if c.receiver is not None and isinstance(c.receiver.object, Made)]
    return len(models) < 2 or models[0] == models[1]
