"""A collective's arguments mean something else

## What it does
Finds `ReduceOp` passed where `reduce` and `gather` expect a rank, and the root of a broadcast that is no member of
the group.

## Why it harms
`dist.reduce(x, dist.ReduceOp.SUM)` raises nothing: the enum is taken for the destination rank. A root outside the
group raises ValueError.

## Example
```python
dist.reduce(x, dist.ReduceOp.SUM)
```

## Use instead
```python
dist.reduce(x, dst=0, op=dist.ReduceOp.SUM)
```

## Fix safety
No automatic fix.

## When it is wrong
It does not look at tensors.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.things import External, GroupOf
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD119", "collective-argument-error", Severity.ERROR)


_ROOTED = tuple(f"torch.distributed.{name}" for name in ("reduce", "broadcast", "gather", "scatter"))


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Roots that are no rank, or none of the group's."""
    for call in facts.named(*_ROOTED):
        name = "src" if call.path.endswith(("broadcast", "scatter")) else "dst"
        position = 1 if call.path.endswith(("reduce", "broadcast")) else 2
        root = call.argument(position, name)
        if root is None:
            continue
        if isinstance(root.thing, External) and ".ReduceOp." in root.thing.path:
            yield facts.finding(RULE, call.site, f"a ReduceOp stands where the rank `{name}` is expected: write op=...")
            continue
        group = call.keyword("group")
        members = group.thing.members if group is not None and isinstance(group.thing, GroupOf) else None
        if members is not None and isinstance(root.constant, int) and root.constant not in members:
            message = f"rank {root.constant} is no member of this group {list(members)}: torch raises ValueError"
            yield facts.finding(RULE, call.site, message)
