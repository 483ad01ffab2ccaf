"""A sampler whose seed differs between ranks

## What it does
Finds `DistributedSampler(seed=...)` whose seed depends on the rank or the clock.

## Why it harms
The sampler relies on every rank shuffling in the same way and then taking its own share. With different orders the
shares overlap: in a test, two ranks together saw 12 of 16 samples.

## Example
```python
DistributedSampler(data, seed=args.seed + rank)
```

## Use instead
```python
DistributedSampler(data, seed=args.seed)
```

## Fix safety
No automatic fix.

## When it is wrong
Only a seed that provably differs is reported.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import Taint
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD133", "shard-order-not-synced", Severity.ERROR, advice="pass the same seed on all ranks")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Samplers with a seed that is not the same on all ranks."""
    for call in facts.named(aliases.SAMPLER):
        seed = call.argument(4, "seed")
        # `torch.initial_seed() - rank` takes out a rank that was put in before
        if seed is None or seed.tags & Tag.SEEDED:
            continue
        severity = Severity.ERROR
        if seed.tags & ANY_RANK or len(seed.atoms) > 1:
            reason = "depends on the rank"
        elif seed.tags & Tag.IN_GROUP:
            # the elements may be equal
            reason, severity = "is chosen by the rank", Severity.WARNING
        elif seed.tags & MADE_UP or (seed.taint is Taint.RANK_LOCAL and seed.tags & Tag.RANDOM):
            reason = "is different in every process"
        else:
            continue
        message = (
            f"the sampler's seed {reason}: the ranks shuffle differently, so their shares overlap and samples are lost"
        )
        yield facts.finding(RULE, call.site, message, context=call.context, severity=severity)
