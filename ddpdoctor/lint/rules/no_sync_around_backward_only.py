"""no_sync around the backward pass only, around every pass, or around none of several

## What it does
Finds a backward pass under `model.no_sync()`, or under Fabric's `no_backward_sync`, whose forward pass is outside it (a
warning where both are made in the same turn of a loop); and, as an error, a program whose every backward pass through
the wrapper is under `no_sync`, forward included. As a hint, it finds gradients that are accumulated without `no_sync`:
a loop over micro-batches with the optimizer's step behind it, or a step that is made every so many batches (`if (i + 1)
% every == 0`); and Accelerate's `accumulate(model)` that is given the network as it was before `prepare`.

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
When another forward pass through the same model runs inside, in a function that could not be followed; or when Fabric
is given a strategy that lint cannot read (a hint), since others than DDP decide in the backward pass; or when another
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
from ddpdoctor.lint.values.tags import NO_TAGS, Tag
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.enclosing import FUNCTIONS, statements_around
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

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
    yield from _averaged_anyway(facts, forwards)
    if facts.mentions(_OF_FABRIC):
        yield from _by_fabric(facts)


def _averaged_anyway(facts: ModuleFacts, forwards: list[CallEvent]) -> Iterator[Finding | None]:
    """Backward passes alone that a program puts under no_sync."""
    for call in facts.methods("backward"):
        tags = call.receiver.tags if call.receiver is not None else NO_TAGS
        # FSDP decides in the backward pass
        if _unshared(call) and tags & Tag.DDP and not tags & Tag.SHARDED:
            before = _before(call, forwards)
            if before is not None and not any(_unshared(c) and _same(c, before) for c in forwards):
                message = Conditional("", _ANYWAY.format("no_sync"))
                yield _anyway(facts, call, before.site, message, certain=_is_same_turn(call, before))


def _by_fabric(facts: ModuleFacts) -> Iterator[Finding | None]:
    """The same where Fabric runs the backward pass, and has wrapped the model, which is seen as it was before."""
    for call in facts.methods("backward"):
        made = call.receiver.object if call.receiver is not None else None
        if _OF_FABRIC not in call.context.withs or not isinstance(made, Made):
            continue
        by_ddp = _is_by_ddp(made) if frameworks.kind(made.path) == frameworks.FABRIC else False
        forward = _outside_of_block(call) if by_ddp is not False else None
        if forward is not None:
            condition = "" if by_ddp else "where the strategy is DDP, "
            at = site_of(call.context.module, forward)
            yield _anyway(facts, call, at, Conditional(condition, _ANYWAY.format(_OF_FABRIC)), certain=bool(by_ddp))


def _outside_of_block(call: CallEvent) -> ast.Call | None:
    """The forward pass before a block that is for this backward pass alone, in the same turn of a loop."""
    tree, line = call.context.module.tree, call.site.line
    around = statements_around(tree, line)
    block = next((s for s in reversed(around) if isinstance(s, ast.With) and _of_model(s)), None)
    inside = [n for s in block.body for n in walk(s) if isinstance(n, ast.Call)] if block is not None else []
    if block is None or any(last_name(n.func) != "backward" for n in inside):
        return None
    scope = next((s for s in reversed(around) if isinstance(s, (ast.For, ast.While, *FUNCTIONS))), tree)
    before = [n for n in walk(scope) if isinstance(n, ast.Call) and n.lineno < block.lineno]
    return next((n for n in reversed(before) if text_of(n.func) == _of_model(block)), None)


def _of_model(block: ast.With) -> str:
    """How the model is written of which a block keeps the gradients; "" if it is none for that."""
    entered = (item.context_expr for item in block.items if isinstance(item.context_expr, ast.Call))
    given = (call.args[0] for call in entered if last_name(call.func) == _OF_FABRIC and call.args)
    return next(map(text_of, given), "")


#: Fabric's block in which gradients are not averaged
_OF_FABRIC = "no_backward_sync"


def _is_by_ddp(fabric: Made) -> bool | None:
    """Whether Fabric trains on several devices by DDP, which decides in the forward pass; None if that is not known."""
    strategy = fabric.argument(1, "strategy")
    if strategy is None:
        return None if fabric.opaque else True
    if isinstance(strategy.object, Made):
        return strategy.object.path.endswith(".DDPStrategy")
    return strategy.constant.startswith(("ddp", "auto")) if isinstance(strategy.constant, str) else None


def _before(call: CallEvent, forwards: list[CallEvent]) -> CallEvent | None:
    """The last forward pass before a backward pass, in the same function or in what that calls."""
    context = call.context
    here = [c for c in forwards if c.context.calls[: len(context.calls)] == context.calls and c.index < call.index]
    return here[-1] if here else None


_ANYWAY = "gradients are averaged anyway: the forward pass must be under {} as well"


def _anyway(
    facts: ModuleFacts, call: CallEvent, forward: SourceSite, message: Conditional, *, certain: bool
) -> Finding | None:  # fmt: skip
    return facts.finding(
        *(RULE, call.site, message),
        related=((forward, "the forward pass"),),
        context=call.context,
        severity=Severity.WARNING if certain else Severity.HINT,
    )


def _is_same_turn(one: CallEvent, two: CallEvent) -> bool:
    """Whether both are made in the same turn of all loops."""
    return [loop.site for loop in one.context.loops] == [loop.site for loop in two.context.loops]


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
