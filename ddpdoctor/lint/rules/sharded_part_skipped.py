"""Sharded part of a network that a rank skips where its own data does not need it

## What it does
Finds parts of a network that FSDP shards by themselves (`fully_shard(expert)`, a policy with their class), and that a
method calls under a condition on its data: experts to which a rank has routed no token, a branch for samples of one
kind.

## Why it hangs
Each call of a sharded part gathers its weights from all ranks, and its backward pass reduces its gradients. A rank that
skips the call leaves the others waiting, or hands them the weights of the part that it calls next.

## Example
```python
for index, expert in enumerate(self.experts):
    rows = (chosen == index).nonzero()
    if rows.numel() == 0:
        continue
    out[rows] = expert(x[rows])
```

## Use instead
```python
for index, expert in enumerate(self.experts):
    rows = (chosen == index).nonzero()
    out[rows] = expert(x[rows])  # with no rows as well
```
Or shard the block around the parts, and not the parts.

## Fix safety
No automatic fix.

## When it is wrong
When all ranks of a part's group have the same data. Methods in which the ranks exchange anything are not reported, nor
those that call the part a second time, for the ranks that do not need it, nor conditions with an alternative that does
not depend on the data (`if synced or rows.any()`).

## References
https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import skipped_parts
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD187",
    "sharded-part-skipped",
    Severity.WARNING,
    ("DD203", "DD210"),
    advice="call the part on every rank, with no rows or with one whose result counts 0 times",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Calls of sharded parts under a condition on a rank's own data."""
    told = set()
    for skipped in () if facts.alone else skipped_parts.found(facts):
        if skipped.site in told:
            continue
        told.add(skipped.site)
        message = (
            f"each call of `{skipped.part}` gathers weights from all ranks, and a rank whose own data does not need it "
            f"skips it here, by `{shown(skipped.text)}`: the others wait for it"
        )
        sharding = skipped.sharding
        assert sharding is not None
        related = ((skipped.call, "it is called here"), (sharding.site, "it is sharded by itself here"))
        chain = (*sharding.context.chain, sharding.site)
        yield facts.finding(RULE, skipped.site, message, related=related, chain=chain)
