"""Ranks leave before a collective

## What it does
Finds `return`, `break` or `continue` that only some ranks execute (because of their rank, or for example because their
own share of the data is empty) before a collective to which the other ranks continue. The backward pass of Lightning
is one, behind what `training_step` returns or in `manual_backward`: a step that skips this rank's batch leaves it out.

## Why it hangs
The remaining ranks wait in the collective for ranks that have left.

## Example
```python
def evaluate(model):
    if dist.get_rank() != 0:
        return
    score = run(model)
    dist.barrier()
```

## Use instead
```python
def evaluate(model):
    if dist.get_rank() == 0:
        score = run(model)
    dist.barrier()
```

## Fix safety
No automatic fix.

## When it is wrong
A hint is an exit where a file is already there that another rank may have made since: a rank has to be late by as long
as it takes to make it. Raising and `sys.exit(1)` are not reported, because the launcher then ends the other ranks;
after `sys.exit(0)` it lets them wait. If the leaving ranks run the same collectives before they leave, nothing is
reported either.

## References
https://docs.pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, proofs
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence, left_at, proof
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD112",
    "rank-exit-before-collective",
    Severity.ERROR,
    ("DD203", "DD206", "DD252"),
    advice="let all ranks come to the collective, or all leave before it",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences through an early exit on the rank."""
    for item in facts.divergences:
        if item.exit is None:
            continue
        if item.local and (item.looped or item.exit.kind != "return"):
            continue
        here = left_at(item, item.exit)
        message = proofs.worded(facts, item, f"some ranks leave here and never reach {item.op.op}: {proof(item)}")
        related = (
            (item.op.site, f"{item.op.op} waits for them here"),
            (item.branch.site, f"the branch: {shown(item.branch.text)}"),
        )
        severity = proofs.severity(facts, item)
        if severity is None:
            continue
        # a file that another rank makes is found by one that is late by as long as that takes
        if severity is Severity.WARNING and proofs.asks_for_file(item.branch) and _finds_it(facts, item):
            severity = Severity.HINT
        yield facts.parting(RULE, item, here, message, related=related, severity=severity)


def _finds_it(facts: ModuleFacts, item: CollectiveDivergence) -> bool:
    """Whether the ranks that leave by a condition on a file are those for which it holds, and the file is there."""
    module = blocks.module_of(facts, item.branch.site)
    node = blocks.branch_at(module, item.branch.site) if module is not None else None
    if node is None or item.exit is None:
        return False
    inside = any(s.lineno <= item.exit.site.line <= (s.end_lineno or s.lineno) for s in node.body)
    return inside is not (isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not))
