"""The forward pass bypasses DistributedDataParallel

## What it does
Finds `loss.backward()` where the loss was computed by the network inside the wrapper: by `model.module(x)`, or by the
name that the network had before it was wrapped. Of another method, `model.module.compute_loss(x)`, it is a warning, if
the function calls the wrapped model nowhere; so it is of an object that lint does not see (a registry makes it), and
that was made with the network before this was wrapped. Also finds `loss.backward()` in the `training_step` of a
LightningModule that sets `automatic_optimization = False`, where `self.manual_backward(loss)` belongs.

## Why it harms
DDP averages gradients only after a forward pass through the wrapper. Without one, every rank keeps its own gradients.
The step of a LightningModule runs inside that forward pass, and Lightning prepares DDP for the backward pass only in
`manual_backward`: before it, DDP does not listen to the gradients.
The replicas drift apart from the first step on, nothing fails, and the checkpoint of rank 0 has learnt only from its
own share of the data.

## Example
```python
ddp = DistributedDataParallel(net)
loss = criterion(net(images), labels)
loss.backward()
```

## Use instead
```python
ddp = DistributedDataParallel(net)
loss = criterion(ddp(images), labels)
loss.backward()
```

## Fix safety
No automatic fix.

## When it is wrong
When gradients are averaged by hand in code that lint cannot see. Not reported are: code that reads `.grad` itself, a
function that also runs a backward pass through the wrapper (adversarial examples, accumulation without
synchronisation), and forward passes under `no_grad`. A method of the module may compute with nothing that is trained.
With Lightning, one GPU has nothing to average, and FSDP averages behind any backward pass.

## References
https://docs.pytorch.org/docs/stable/notes/ddp.html
https://lightning.ai/docs/pytorch/stable/model/manual_optimization.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import averaged_gradients, launch, manual_optimisation
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag, union
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD163",
    "forward-bypasses-ddp",
    Severity.ERROR,
    advice="compute the loss by calling the wrapped model, not the network in it",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Backward passes that DDP does not listen to, if nothing else averages gradients."""
    passes = facts.methods("backward")
    if passes and not averaged_gradients.may_be_by_hand(facts):
        yield from _inside(facts, passes)
    if passes and not launch.says_alone(facts):
        yield from _past_lightning(facts)


def _past_lightning(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Backward passes of a LightningModule that optimises by itself."""
    for call in manual_optimisation.unprepared(facts):
        message = Conditional(
            "where Lightning trains by DDP, ",
            "gradients stay on their own rank: it prepares DDP for this backward pass only in "
            "self.manual_backward(loss)",
        )
        yield facts.finding(RULE, call.site, message, context=call.context, severity=Severity.WARNING)


def _inside(facts: ModuleFacts, passes: list[CallEvent]) -> Iterator[Finding | None]:
    """Backward passes from outputs of the network inside a wrapper."""
    through = {call.context.function for call in passes if any(v.tags & Tag.DDP for v in _losses(call))}
    wraps = sorted(w.site for w in facts.analysis.wrapped.values())
    related = ((wraps[0], "wrapped here"),) if wraps else ()
    for call in passes:
        if call.context.function in through:
            continue
        tags = union(value.tags for value in _losses(call))
        if tags & Tag.BYPASS:
            said = (
                "gradients stay on their own rank: this loss was computed by the network inside "
                "DistributedDataParallel; call the wrapped model instead"
            )
            yield facts.finding(RULE, call.site, said, related=related, context=call.context)
        elif tags & Tag.BY_METHOD and not _calls_wrapper(facts, call):
            message = Conditional(
                "if that method computes with its parameters, ",
                "gradients stay on their own rank: this loss was computed by a method of the network inside "
                "DistributedDataParallel; call the wrapped model instead, whose forward can call the method",
            )
            yield facts.finding(
                RULE, call.site, message, related=related, context=call.context, severity=Severity.WARNING
            )
        elif tags & Tag.BY_HOLDER and not _calls_wrapper(facts, call):
            message = Conditional(
                "if what computes this loss does so with the network that it was given, ",
                "gradients stay on their own rank: it was made with the network and not with the wrapper around it; "
                "wrap the network first",
            )
            yield facts.finding(
                RULE, call.site, message, related=related, context=call.context, severity=Severity.WARNING
            )


def _calls_wrapper(facts: ModuleFacts, backward: CallEvent) -> bool:
    """Whether the function of the backward pass also calls the wrapped model, as a loss with a state needs."""
    function = backward.context.function
    return any(c.context.function is function and wrapping.is_wrapped(c.receiver) for c in facts.methods("__call__"))


def _losses(call: CallEvent) -> tuple[Value, ...]:
    """What the gradients are of: `loss.backward()`, or `engine.backward(loss)`."""
    return (*((call.receiver,) if call.receiver is not None else ()), *call.args)
