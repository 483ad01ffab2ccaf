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
When a package that cannot be read destroys the group. Frameworks that destroy a group which the program has made, and
processes started by the program itself, are not reported. Accelerate, DeepSpeed, Lightning and the Trainer of
transformers do not destroy such a group.

## References
https://docs.pytorch.org/docs/stable/distributed.html#shutdown
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices, launch
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.modules import Module

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
    groups = [c for c in made if c.context.from_script and not _is_of_one(c)]
    if (
        not groups
        or facts.suggests(heuristics.ENDS_GROUP)
        or launch.starts_processes(facts)
        or devices.managed(facts, Does.ENDS)
    ):
        return
    if any(_may_end(c.path) for c in facts.calls) or (facts.module.stars and _may_end_by_star(facts.module)):
        return
    message = "this process group is never destroyed: call dist.destroy_process_group() at the end of the work"
    yield facts.finding(RULE, groups[0].site, message, context=groups[0].context)


def _is_of_one(call: CallEvent) -> bool:
    """Whether the group has this process alone, by its own words: nobody else can wait for it."""
    size = call.argument(3, "world_size") if call.path == devices.GROUP else None
    return size is not None and size.constant == 1


def _may_end(path: str) -> bool:
    root, _, rest = path.partition(".")
    return bool(rest) and not devices.is_read(root) and heuristics.MAY_END_GROUP.found_in(rest)


def _may_end_by_star(module: Module) -> bool:
    """Whether a function is called by a plain name that only `import *` can have brought, and may end the group."""
    return any(
        isinstance(call.func, ast.Name)
        and call.func.id not in module.bindings
        and call.func.id not in module.imports
        and heuristics.MAY_END_GROUP.found_in(call.func.id)
        for call in module.of(ast.Call)
    )
