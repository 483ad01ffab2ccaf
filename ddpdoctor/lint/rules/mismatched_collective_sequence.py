"""Both sides of a rank branch run collectives, but different ones

## What it does
Finds a branch on the rank whose two sides run different collectives, or the same collectives in a different order or
number.

## Why it hangs
The ranks block in the first collective that differs. On gloo they wait for ever or abort; NCCL may interpret the data
of one operation as that of the other.

## Example
```python
if rank == 0:
    dist.broadcast(weights, src=0)
    dist.all_reduce(count)
else:
    dist.all_reduce(count)
    dist.broadcast(weights, src=0)
```

## Use instead
```python
dist.broadcast(weights, src=0)
dist.all_reduce(count)
```

## Fix safety
No automatic fix.

## When it is wrong
Arguments are not compared, so `gather(x, parts)` on the root and `gather(x)` elsewhere count as equal, as they should.
Loops are assumed to run equally often on all ranks unless their bounds are known to differ.

## References
https://docs.pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import proofs
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.ranks.divergence import place, proof
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD115",
    "mismatched-collective-sequence",
    Severity.ERROR,
    ("DD213",),
    advice="issue the same collectives in the same order on both sides",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences in which both sides have collectives."""
    for item in facts.divergences:
        if item.local or not item.mismatched or item.exit is not None or item.op.op == "new_group":
            continue
        severity = proofs.severity(facts, item)
        if severity is None:
            continue
        message = proofs.worded(facts, item, f"the two sides of this branch run different collectives: {proof(item)}")
        related = (
            (item.branch.site, f"the branch: {shown(item.branch.text)}"),
            (item.op.site, f"{item.op.op} has no match"),
        )
        yield facts.parting(RULE, item, place(item), message, related=related, severity=severity)
