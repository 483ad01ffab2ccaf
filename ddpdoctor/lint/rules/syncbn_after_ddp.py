"""Batch norm is converted after the model was wrapped

## What it does
Finds `SyncBatchNorm.convert_sync_batchnorm(model)` where the model is already in DistributedDataParallel: a hint, and a
warning where apex converts it, unless the setting that it is under is off in every file that sets it.

## Why it harms
The wrapper has listed the model's parameters and buffers. The conversion of apex makes new parameters, whose gradients
the wrapper does not average. That of torch puts the same parameters and buffers into new modules, which works; but the
documentation requires the other order, and a later version may not support this one.

## Example
```python
model = DistributedDataParallel(net)
model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
```

## Use instead
```python
net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
model = DistributedDataParallel(net)
```

## Fix safety
No automatic fix.

## When it is wrong
When the wrapper is removed and applied again in code that lint cannot see.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, RelatedRole, Severity

RULE = LintRule("DD165", "syncbn-after-ddp", Severity.WARNING, advice="convert before the model is wrapped")

#: keeps the parameters and buffers that the wrapper has listed
_OF_TORCH = (
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.nn.modules.batchnorm.SyncBatchNorm.convert_sync_batchnorm",
    "torch.nn.modules.SyncBatchNorm.convert_sync_batchnorm",
)
#: makes new ones
_OF_APEX = "apex.parallel.convert_syncbn_model"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Conversions of a wrapped model."""
    for call in facts.named(*_OF_TORCH, _OF_APEX):
        made = wrapping.wrapper_of(call.argument(0, "module"))
        if made is not None:
            message = "convert batch norm before wrapping the model in DistributedDataParallel"
            harms = call.path == _OF_APEX
            yield facts.finding(
                *(RULE, call.site, message),
                related=((made.site, "wrapped here"),),
                context=call.context,
                severity=Severity.WARNING if harms else Severity.HINT,
                unconfirmed=Unconfirmed(call.site, RelatedRole.UNSTARTED) if harms else None,
            )
