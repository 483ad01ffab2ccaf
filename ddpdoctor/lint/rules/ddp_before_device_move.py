"""A model is moved after it was wrapped

## What it does
Finds `DistributedDataParallel(model).to(device)` and `.cuda()` on the wrapped model, and `device_ids` that is no list.

## Why it harms
DDP makes its buckets and broadcasts parameters on the device where they are when it is constructed: gradients are
then reduced on the wrong device or not at all.

## Example
```python
model = DDP(net).cuda()
```

## Use instead
```python
model = DDP(net.cuda(), device_ids=[local_rank])
```

## Fix safety
No automatic fix.

## When it is wrong
`.to(dtype)` and `.to(memory_format=...)` are not reported.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import collective_table
from ddpdoctor.lint.facts.events import Call
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.things import Made
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD161", "ddp-before-device-move", Severity.ERROR)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Moves of a wrapped model; device_ids that is a bare number."""
    for call in facts.methods("to", "cuda"):
        thing = call.receiver.thing if call.receiver is not None else None
        if isinstance(thing, Made) and thing.path in collective_table.WRAPPERS and _moves(call):
            assert call.receiver is not None
            if "maybe" not in call.receiver.tags:
                message = "the model is already wrapped: move it to its device before DistributedDataParallel(...)"
                yield facts.finding(
                    RULE, call.site, message, related=((thing.site, "wrapped here"),), context=call.context
                )
    for call in facts.named("torch.nn.parallel.DistributedDataParallel"):
        devices = call.argument(1, "device_ids")
        if devices is not None and devices.known and isinstance(devices.at(0), int):
            yield facts.finding(
                RULE, call.site, "device_ids must be a list: write device_ids=[...]", context=call.context
            )


def _moves(call: Call) -> bool:
    """To a device, not to a dtype or a memory format."""
    if call.method == "cuda":
        return True
    target = call.argument(0, "device")
    if target is None:
        return False
    if isinstance(target.thing, Made):
        return target.thing.path == "torch.device"
    return isinstance(target.constant, str) and target.constant.startswith("cuda")
