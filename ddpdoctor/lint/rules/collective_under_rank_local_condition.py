"""Collective under a condition on a rank's own data

## What it does
Finds a collective in a branch whose condition depends on data of one rank: its batch, its loss, its clock.

## Why it hangs
If the condition holds on one rank and not on another, the first waits for the second.

## Example
```python
for batch in loader:
    loss = model(batch).mean()
    if loss.item() > limit:
        dist.all_reduce(penalty)
```

## Use instead
Decide together: reduce the condition first, and branch on the result.
```python
for batch in loader:
    loss = model(batch).mean()
    high = (loss > limit).float()
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    if high.item():
        dist.all_reduce(penalty)
```

## Fix safety
No automatic fix.

## When it is wrong
When the data is the same on every rank although each rank computes it, for example because all ranks read one fixed
file. A barrier of the first rank and one of all others, in the same function, are a pair and are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import proofs
from ddpdoctor.lint.facts.barrier_pairs import is_paired
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.ranks.divergence import place, proof
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD114",
    "collective-under-rank-local-condition",
    Severity.ERROR,
    ("DD203", "DD206", "DD207", "DD212"),
    advice="reduce the condition over the ranks first, and branch on the result",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences at a rank-local condition that are not early exits."""
    for item in facts.divergences:
        if not item.local or item.exit is not None or item.op.op == "new_group" or is_paired(facts, item):
            continue
        said = f"each rank decides on its own whether it runs {item.op.op}: {proof(item)}"
        message = proofs.worded(facts, item, said)
        severity = proofs.severity(facts, item)
        if severity is None:
            continue
        related = (
            (item.branch.site, f"the condition: {shown(item.branch.text)}"),
            (item.op.site, f"{item.op.op} runs here"),
        )
        yield facts.parting(RULE, item, place(item), message, related=related, severity=severity)
