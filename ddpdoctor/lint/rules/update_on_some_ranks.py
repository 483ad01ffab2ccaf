"""Only some ranks change the weights, or the learning rate

## What it does
Finds steps of an optimizer or of a learning-rate schedule, and clipped gradients, on some ranks only, where all ranks
have gone through the backward pass of a model in DistributedDataParallel; and a network that some ranks put into
evaluation in a training loop in which nothing puts it back.

## Why it harms
The wrapper averages gradients, and nothing else: that the parameters are equal follows from equal steps. A rank that
steps alone, by another learning rate or with other gradients, has another model from then on. Each rank averages
gradients of other parameters, and what is saved is that of one of them. A rank that goes on in evaluation has no
dropout, and keeps the averages of its batch norm. Nothing hangs, and nothing is reported.

## Example
```python
loss.backward()
optimizer.step()
if rank == 0:
    scheduler.step()
    print(scheduler.get_last_lr())
```

## Use instead
```python
loss.backward()
optimizer.step()
scheduler.step()
if rank == 0:
    print(scheduler.get_last_lr())
```

## Fix safety
No automatic fix.

## When it is wrong
Where the ranks outside the branch make the same step elsewhere in the function, which is not reported if they do it
with the same object. A mode is reported, too, where what puts it back
could not be followed. What one rank alone trains is not reported: its backward pass is in the branch, too. Nor is a
schedule of a program that writes learning rates into the optimizer itself.

## References
https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import fsdp, wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import MODEL, Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD169",
    "update-on-some-ranks",
    Severity.ERROR,
    advice="make the step on all ranks, and keep only what is printed or saved in the branch",
)

_OPTIMIZERS = "torch.optim."
_SCHEDULES = "torch.optim.lr_scheduler."
_SCALERS = ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler")
_CLIPS = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Steps and clipped gradients under a branch on the rank."""
    passes = [c for c in facts.methods("backward") if c.receiver is not None and c.receiver.tags & Tag.DDP]
    if passes:
        yield from _stepping(facts, passes)
        yield from _clipping(facts, passes)
    yield from _evaluating(facts)


def _evaluating(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Networks of which some ranks have another mode than the others from then on."""
    trained = {
        loop.site for c in facts.methods("backward") if not c.context.some_ranks_only for loop in c.context.loops
    }
    back = {loop.site for c in facts.methods("train") for loop in c.context.loops}
    for call in facts.methods("eval"):
        turns = [loop.site for loop in call.context.loops if loop.site in trained]
        if turns and turns[-1] not in back and call.context.some_ranks_only and _is_trained(call.receiver):
            said = "put the network into evaluation, and nothing puts it back into training"
            yield _found(facts, call, said, Severity.HINT)


def _is_trained(network: Value | None) -> bool:
    """Whether it is a wrapped network, or the one inside."""
    made = _made(network)
    tags = network.tags if network is not None else 0
    return bool(tags & (MODEL | Tag.PREPARED)) or (made is not None and made.path.endswith(".unwrap_model"))


def _stepping(facts: ModuleFacts, passes: list[CallEvent]) -> Iterator[Finding | None]:
    steps = [(stepped, call) for call in facts.methods("step") if (stepped := _stepped(call)) is not None]
    for stepped, call in steps:
        if not call.context.some_ranks_only or _by_others(stepped, call, steps):
            continue
        if not stepped.path.startswith(_SCHEDULES):
            if _after_all(passes, call):
                yield _found(facts, call, "step this optimizer: their parameters part from those of the others")
        elif _steps_on_all(stepped, steps) and "param_groups" not in facts.module.words:
            yield _found(facts, call, "change the learning rate: their parameters part from those of the others")


def _clipping(facts: ModuleFacts, passes: list[CallEvent]) -> Iterator[Finding | None]:
    clips = facts.named(*_CLIPS)
    for call in clips:
        model = fsdp.parameters_of(call.args[0]) if call.args else None
        by_others = any(c.site == call.site and c.context.mask & ~call.context.mask for c in clips)
        if by_others or not call.context.some_ranks_only:
            continue
        if wrapping.is_wrapped(model) and _after_all(passes, call):
            yield _found(facts, call, "clip the gradients: their steps, and then their parameters, are others")


def _found(facts: ModuleFacts, call: CallEvent, what: str, severity: Severity | None = None) -> Finding | None:
    guards = [guard for guard in call.context.guards if len(guard.truth) > 1]
    related = ((guards[-1].site, f"the branch: {guards[-1].text}"),) if guards else ()
    return facts.finding(
        *(RULE, call.site, f"only some ranks {what}"), related=related, context=call.context, severity=severity
    )


def _stepped(call: CallEvent) -> Made | None:
    """The optimizer or schedule that makes a step: `optimizer.step()`, or `scaler.step(optimizer)`."""
    made = _made(call.receiver)
    if made is not None and made.path in _SCALERS:
        made = _made(call.argument(0, "optimizer"))
    return made if made is not None and made.path.startswith(_OPTIMIZERS) else None


def _made(value: Value | None) -> Made | None:
    return value.object if value is not None and isinstance(value.object, Made) else None


def _by_others(stepped: Made, call: CallEvent, steps: list[tuple[Made, CallEvent]]) -> bool:
    """Whether the other ranks make a step of it elsewhere."""
    return any(made.site == stepped.site and other.context.mask & ~call.context.mask for made, other in steps)


def _after_all(passes: list[CallEvent], call: CallEvent) -> bool:
    """Whether more ranks than come here have gone backward before, in the same turn of the same loop."""
    around = [loop.node for loop in call.context.loops]
    return any(
        c.index < call.index
        and c.context.mask & ~call.context.mask
        and [loop.node for loop in c.context.loops] == around
        for c in passes
    )


def _steps_on_all(schedule: Made, steps: list[tuple[Made, CallEvent]]) -> bool:
    """Whether all ranks make the steps of the optimizer that a schedule is for."""
    optimizer = _made(schedule.argument(0, "optimizer"))
    return optimizer is not None and any(
        made.site == optimizer.site and not call.context.some_ranks_only for made, call in steps
    )
