"""The global rank used as a device index

## What it does
Finds the global rank as a CUDA device index: `torch.cuda.set_device(rank)`, `DDP(device_ids=[rank])`,
`torch.device("cuda", rank)`.

## Why it harms
On the second node the ranks go on counting where the devices start again at 0: invalid device ordinal.

## Example
```python
torch.cuda.set_device(dist.get_rank())
```

## Use instead
```python
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
```

## Fix safety
No automatic fix.

## When it is wrong
A rank that `mp.spawn` hands over is local to its node and not reported; nor is `rank % device_count()`, nor a script
that meets at localhost and so runs on one node, nor a test. `get_rank()` in a file whose processes are started by
another that is not seen is a warning: they may be started on one node only.

## References
https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import launch
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.things import Items
from ddpdoctor.lint.facts.values import RANK_NUMBERS, Value
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD143", "global-rank-as-device-index", Severity.ERROR)


_DEVICE = {"torch.cuda.set_device": (0, "device"), "torch.device": (1, "index"), "torch.cuda.device": (0, "device")}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Device indices that are the rank itself, in a script that may run on more than one node."""
    if launch.one_node_only(facts):
        return
    severity = Severity.ERROR if launch.seen(facts) else Severity.WARNING
    message = "this is the rank in the whole job: on a second node there is no such device, use LOCAL_RANK"
    for path, (position, name) in _DEVICE.items():
        for call in facts.named(path):
            if _global_rank(call.argument(position, name)):
                yield facts.finding(RULE, call.site, message, severity=severity, context=call.context)
    for call in facts.named("torch.nn.parallel.DistributedDataParallel"):
        devices = call.argument(1, "device_ids")
        items = devices.thing.items if devices is not None and isinstance(devices.thing, Items) else ()
        if any(_global_rank(item) for item in items):
            yield facts.finding(RULE, call.site, message, severity=severity, context=call.context)


def _global_rank(value: Value | None) -> bool:
    return value is not None and value.atoms == RANK_NUMBERS.atoms and "rank" in value.tags and (
        not value.tags & {"local_rank", "spawned"})  # fmt: skip
