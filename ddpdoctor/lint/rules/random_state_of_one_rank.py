"""All ranks go on with the random state of one rank

## What it does
Finds the state of a random generator that one rank alone puts into a checkpoint (`torch.get_rng_state()`, numpy's and
Python's), and that every rank sets when it loads the checkpoint, in a program that has seeded the ranks apart.

## Why it harms
The ranks are seeded apart so that each draws noise, dropout and augmentation of its own. After a resume they all have
the generator of rank 0, and draw the same: the noise is correlated over the whole batch, unlike in a run that was not
interrupted. Nothing fails.

## Example
```python
torch.manual_seed(seed + rank)
if rank == 0:
    torch.save({"model": net.state_dict(), "rng": torch.get_rng_state()}, path)
...
saved = torch.load(path, weights_only=False)
torch.set_rng_state(saved["rng"])
```

## Use instead
```python
states = [None] * dist.get_world_size()
dist.all_gather_object(states, torch.get_rng_state())
if rank == 0:
    torch.save({"model": net.state_dict(), "rng": states}, path)
...
saved = torch.load(path, weights_only=False)
torch.set_rng_state(saved["rng"][rank])
```

## Fix safety
No automatic fix.

## When it is wrong
When what is drawn after a resume has to be equal on all ranks. A state that is chosen by rank, or loaded from a file of
each rank's own, is not reported; nor is one that is set only where a condition finds no other, nor one after which the
ranks are seeded apart again, nor that of a generator which all ranks seed alike.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import random_checkpoints
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD152",
    "random-state-of-one-rank",
    Severity.WARNING,
    advice="gather the states of all ranks into the checkpoint, and set that of the rank",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """States of generators that one rank has saved and all ranks set."""
    message = (
        "every rank goes on with the random state that one rank has saved: they draw the same numbers from then on, "
        "though they were seeded apart"
    )
    for restored, saved, seeded in random_checkpoints.shared(facts):
        related = ((saved.site, "saved here"), (seeded.site, "seeded apart here"))
        yield facts.finding(RULE, restored.site, message, related=related, context=restored.context)
