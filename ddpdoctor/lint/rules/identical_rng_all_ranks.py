"""Every rank draws the same random numbers

## What it does
Finds data-parallel training whose ranks all seed with the same constant while augmentation or noise is drawn from
those generators: no seed anywhere depends on the rank.

## Why it harms
DataLoader workers are seeded from the main process's generator (torch 1.9 and later), so with equal seeds the k-th
sample of every rank gets the *same* crop, flip and noise. The run trains on a fraction of the variety it pays for, and
nothing shows it.

## Example
```python
torch.manual_seed(42)
dist.init_process_group("nccl")
noise = torch.randn(batch.shape)
```

## Use instead
One seed for what must be equal (initial weights, the sampler), another by rank for what should differ.
```python
torch.manual_seed(42)
model = DDP(Net())
torch.manual_seed(42 + dist.get_rank())
noise = torch.randn(batch.shape)
```

## Fix safety
No automatic fix: adding the rank also changes the initial weights, which DDP makes equal again but hand-written
averaging does not.

## When it is wrong
Where equal randomness is wanted, for example masks that must match across ranks. Equal seeds without any random
augmentation or noise in sight are not reported.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import seeds
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD131", "identical-rng-all-ranks", Severity.WARNING)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Constant seeds in a data-parallel script with random augmentation, none of them by rank."""
    if not seeds.data_parallel(facts) or seeds.by_framework(facts):
        return
    given = seeds.seedings(facts)
    if not given or any(seeds.differs_by_rank(call) for call in given) or seeds.seeds_elsewhere(facts):
        return
    constant = sorted((c for c in given if seeds.constant(c)), key=lambda c: c.site)
    draw = seeds.first_draw(facts)
    if constant and draw is not None:
        message = (
            "every rank starts from this seed, so all ranks draw the same augmentation or noise: "
            "seed again with `+ rank` after the model is made"
        )
        yield facts.finding(RULE, constant[0].site, message, related=((draw, "random numbers are drawn here"),))
