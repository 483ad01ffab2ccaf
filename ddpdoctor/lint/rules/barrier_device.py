"""A barrier on the wrong GPU

## What it does
Finds `barrier(device_ids=...)` with the same device on every rank, with the global rank, or with something that is not
a list; and an NCCL `barrier()` in a script that never states which device its process uses.

## Why it hangs
NCCL runs a barrier as a small all_reduce on one GPU of each rank. If two ranks of a node use one GPU, NCCL rejects it
or hangs. A number instead of a list is ignored. Where nothing tells it the device, and the group has not used one, it
guesses `rank % device_count()`, which is wrong if ranks are mapped to devices in another way.

## Example
```python
dist.barrier(device_ids=[0])
```

## Use instead
```python
dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
dist.barrier()
```

## Fix safety
No automatic fix.

## When it is wrong
If the launcher makes only one GPU visible to each process, `device_ids=[0]` is right.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.barrier
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Items
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, Value
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD147",
    "barrier-device",
    Severity.HINT,
    ("DD263",),
    advice="call torch.cuda.set_device(local_rank) or give init_process_group a device_id, then barrier() alone",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Barriers whose device is wrong, or guessed."""
    guessed = _nobody_says(facts)
    for call in facts.named("torch.distributed.barrier"):
        given = call.argument(2, "device_ids")
        if given is not None:
            message = _wrong(facts, call, given)
            if message:
                yield facts.finding(RULE, call.site, message, context=call.context)
        elif guessed and call.context.from_script and devices.default_group(call) and not call.args:
            message = "NCCL guesses the GPU of this barrier: rank % device_count()"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _wrong(facts: ModuleFacts, call: CallEvent, given: Value) -> str:
    if given.known and all(isinstance(atom, int) for atom in given.atoms):
        return "device_ids must be a list (a number is ignored or rejected): write device_ids=[...]"
    items = given.object.items if isinstance(given.object, Items) else ()
    if len(items) != 1:
        return ""
    device = items[0]
    if device.atoms == RANK_NUMBERS.atoms and device.tags & (ANY_RANK | Tag.SPAWNED) == Tag.RANK:
        return "this is the global rank, and a second node has no such device: use LOCAL_RANK"
    if isinstance(device.constant, int) and not call.context.some_ranks_only and not devices.one_visible(facts):
        return f"every rank runs this barrier on GPU {device.constant}: select the GPU by LOCAL_RANK"
    return ""


def _nobody_says(facts: ModuleFacts) -> bool:
    """An NCCL group of the script, and no word of devices in what can be read."""
    groups = [c for c in facts.named(devices.GROUP) if c.context.from_script and devices.on_nccl(facts, c)]
    return bool(groups) and not devices.chosen(facts) and not devices.may_be_chosen_outside(facts)
