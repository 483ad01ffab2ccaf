"""The process group is never destroyed

## What it does
Finds a script that creates a process group and mentions `destroy_process_group` neither in itself nor in the files it
uses.

## Why it harms
NCCL's communicators live until the interpreter shuts down, in no defined order: torch 2.4 and newer warn about leaked
resources, and a rank that exits earlier can make the others abort or hang in their own clean-up.

## Example
```python
dist.init_process_group("nccl")
train()
```

## Use instead
```python
dist.init_process_group("nccl")
train()
dist.destroy_process_group()
```

## Fix safety
No automatic fix.

## When it is wrong
When a package that cannot be read destroys the group. Frameworks that destroy the group, and processes started by the
program itself, are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#shutdown
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD149",
    "process-group-not-destroyed",
    Severity.HINT,
    advice="call torch.distributed.destroy_process_group() at the end",
)


#: they make the group of all ranks where there is none
_MESHES = ("torch.distributed.device_mesh.init_device_mesh", "torch.distributed.init_device_mesh")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Groups of a script that are never destroyed."""
    made = facts.named(devices.GROUP) or facts.named(*_MESHES)
    groups = [c for c in made if c.context.from_script]
    if (
        not groups
        or facts.suggests(heuristics.ENDS_GROUP, heuristics.STARTS_PROCESSES)
        or devices.placed(facts)
        or facts.module.stars
    ):
        return
    if any(_may_end(c.path) for c in facts.calls):
        return
    message = "this process group is never destroyed: call dist.destroy_process_group() at the end of the work"
    yield facts.finding(RULE, groups[0].site, message, context=groups[0].context)


def _may_end(path: str) -> bool:
    root, _, rest = path.partition(".")
    return bool(rest) and not devices.is_read(root) and heuristics.MAY_END_GROUP.found_in(rest.lower())
