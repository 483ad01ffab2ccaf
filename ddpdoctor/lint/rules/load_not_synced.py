"""State is loaded on some ranks only

## What it does
Finds `load_state_dict` of a wrapped model, or of an optimizer, that only some ranks run, with no broadcast after it.

## Why it harms
DDP makes parameters equal once, at construction. What only rank 0 loads later stays on rank 0: from then on the ranks
train different models with the same averaged gradients. Nothing fails.

## Example
```python
model = DistributedDataParallel(net)
if rank == 0:
    model.module.load_state_dict(torch.load("last.pt"))
```

## Use instead
```python
net.load_state_dict(torch.load("last.pt", map_location="cpu"))
model = DistributedDataParallel(net)
```

## Fix safety
No automatic fix.

## When it is wrong
When the state is made equal in code that lint cannot see. Any later broadcast is assumed to do so; buffers alone are
made equal by DDP itself.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import symbol_key
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD176", "load-not-synced", Severity.HINT, advice="load on every rank, or before the model is wrapped")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loads on some ranks that nothing makes equal."""
    for call in facts.methods("load_state_dict"):
        if not call.context.some_ranks_only or _made_equal(facts, call):
            continue
        if _after_wrap(facts, call):
            message = "only some ranks load this state, after DDP has made the ranks equal: load it on every rank"
            yield facts.finding(RULE, call.site, message, context=call.context)
        elif _optimizer(call) and facts.distributed:
            message = "only some ranks load the optimizer's state, and nothing sends it to the others"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _after_wrap(facts: ModuleFacts, call: CallEvent) -> bool:
    receiver = call.receiver
    if receiver is None:
        return False
    if wrapping.is_wrapped(receiver) or receiver.tags & Tag.INNER:
        return True
    key = symbol_key(receiver)
    before = (c for path in collectives.WRAPPERS for c in facts.named(path) if c.index < call.index)
    return key is not None and any(c.args and symbol_key(c.args[0]) == key for c in before)


def _optimizer(call: CallEvent) -> bool:
    obj = call.receiver.object if call.receiver is not None else None
    return isinstance(obj, Made) and obj.path.startswith("torch.optim.") and obj.path.count(".") == 2


def _made_equal(facts: ModuleFacts, call: CallEvent) -> bool:
    """A broadcast comes later, or the other ranks load as well."""
    rest = ~call.context.mask
    if any("broadcast" in c.path and c.index > call.index for c in facts.calls):
        return True
    return any(
        c is not call and c.context.mask & rest and c.context.function is call.context.function
        for c in facts.methods("load_state_dict")
    )
