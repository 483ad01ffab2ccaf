"""torch.load without map_location on every rank

## What it does
Finds `torch.load(path)` without `map_location` in a script that creates an NCCL process group.

## Why it harms
Tensors return to the device from which they were saved. Every rank loads a checkpoint written by rank 0 onto GPU 0,
which runs out of memory or holds a CUDA context of each process.

## Example
```python
state = torch.load("last.pt")
```

## Use instead
```python
state = torch.load("last.pt", map_location="cpu")
```

## Fix safety
Safe: `map_location="cpu"` is added; `load_state_dict` copies to the parameters' own device.

## When it is wrong
When the checkpoint holds CPU tensors only.

## References
https://docs.pytorch.org/docs/stable/generated/torch.load.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.program.sites import site_of

RULE = LintRule("DD173", "load-without-map-location", Severity.WARNING)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loads on all ranks without a device."""
    groups = [group for group in facts.named(devices.GROUP) if devices.on_nccl(facts, group)]
    # without a backend there are both, and NCCL is for tensors on a GPU
    if not any(devices.texts_of(group, 0, "backend") for group in groups) and not (
        groups and facts.suggests(heuristics.USES_GPU)
    ):
        return
    for call in facts.named("torch.load"):
        placed = call.argument(1, "map_location") is not None or call.keyword("mmap") is not None or call.opaque
        if not placed and not call.context.some_ranks_only and _in_the_job(facts, call, groups):
            message = "every rank loads onto the device from which the file was saved, usually GPU 0: set map_location"
            yield facts.finding(RULE, call.site, message, fix=_fix(facts, call), context=call.context)


def _in_the_job(facts: ModuleFacts, call: CallEvent, groups: list[CallEvent]) -> bool:
    """In this file, or in another that this one reaches after creating its group."""
    if call.site.file == facts.module.path:
        return True
    root = call.context.calls[:1]
    return any(group.index < call.index and group.context.calls[:1] == root for group in groups)


def _fix(facts: ModuleFacts, call: CallEvent) -> Fix | None:
    if call.site.file != facts.module.path or not call.node.args:
        return None
    at = site_of(facts.module, call.node.args[-1])
    edit = Edit(at.end_line, at.end_column, at.end_line, at.end_column, ', map_location="cpu"')
    return Fix(Applicability.SAFE, (edit,))
