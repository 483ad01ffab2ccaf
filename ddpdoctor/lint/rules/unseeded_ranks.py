"""A training script without a seed

## What it does
Finds a script that creates a process group and trains, and that neither seeds a generator nor calls a framework's seed
function in any of the files that it uses.

## Why it harms
No run can be repeated, and neither can a hang or a bad loss. Values on which ranks should agree (a random split, the
initial weights without DDP) differ by accident.

## Example
```python
dist.init_process_group("nccl")
model = DDP(Net())
for batch in loader:
    model(batch).sum().backward()
```

## Use instead
```python
torch.manual_seed(args.seed)
dist.init_process_group("nccl")
model = DDP(Net())
torch.manual_seed(args.seed + dist.get_rank())
```

## Fix safety
No automatic fix.

## When it is wrong
When the seed is set in a package that could not be read, or by the launcher.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD136",
    "unseeded-ranks",
    Severity.WARNING,
    advice="seed all ranks: torch.manual_seed(seed), and by rank what should differ",
)

_GROUP = "torch.distributed.init_process_group"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Scripts that create a group and train without any seed in reach."""
    groups = [c for c in facts.named(_GROUP) if c.context.from_script]
    if not groups or seeds.mentioned(facts) or seeds.by_framework(facts) or not seeds.trains(facts):
        return
    message = "this script trains on several ranks and sets no seed: no run can be repeated"
    yield facts.finding(RULE, facts.place(groups[0]), message)
