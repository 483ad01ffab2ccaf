"""Train and validation data are split differently on each rank

## What it does
Finds `random_split` or `train_test_split` without a generator of its own after the global generators were seeded by
rank.

## Why it harms
Each rank draws another split, so what one rank validates on, the others train on: with two ranks and a 10 % split,
90 of rank 0's 100 validation samples were trained on. The score is too good, and nothing shows it.

## Example
```python
torch.manual_seed(seed + rank)
train, val = random_split(data, [900, 100])
```

## Use instead
```python
generator = torch.Generator().manual_seed(seed)
train, val = random_split(data, [900, 100], generator=generator)
```

## Fix safety
No automatic fix.

## When it is wrong
When the split is made on one rank and sent to the others.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import seeds
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD132", "rank-dependent-split", Severity.ERROR)


_TORCH = ("torch.manual_seed", "torch.random.manual_seed")
_SPLITS = {"torch.utils.data.random_split": (_TORCH, "generator"),
           "sklearn.model_selection.train_test_split": (("numpy.random.seed",), "random_state")}  # fmt: skip


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Splits from a generator that was last seeded with the rank."""
    for path, (seeders, own) in _SPLITS.items():
        for call in facts.named(path):
            generator = call.keyword(own)
            given = generator is not None and not (generator.known and generator.constant is None)
            before = [c for c in facts.named(*seeders) if c.index < call.index]
            if given or call.opaque or call.context.some_ranks_only or not before:
                continue
            last = max(before, key=lambda c: c.index)
            if seeds.differs_by_rank(last) and last.args:
                message = (
                    "the generator was seeded with the rank, so every rank draws another split and trains on what "
                    f"others validate on: pass {own}= with the same seed everywhere"
                )
                related = ((last.site, "seeded by rank here"),)
                yield facts.finding(RULE, call.site, message, related=related, context=call.context)
