"""Each rank keeps statistics of its own batches

## What it does
Finds a moving average of statistics of a batch (mean probabilities of the classes, how often a code is used, a centre
of features), and a queue of features, that each rank feeds with its own batch alone, in a program of several ranks.

## Why it harms
The ranks train one network, but by thresholds, codebooks or centres of their own: what each learns from depends on the
rank, and a checkpoint has those of rank 0 only. Where it is a buffer of a network in DistributedDataParallel, the next
forward pass overwrites it with that of rank 0, and what all other ranks have put in is lost: a queue gets the features
of one rank, and an average sees one of N batches.

## Example
```python
self.prior = 0.99 * self.prior + 0.01 * probabilities.mean(0)
```

## Use instead
```python
mean = probabilities.mean(0)
dist.all_reduce(mean, dist.ReduceOp.AVG)
self.prior = 0.99 * self.prior + 0.01 * mean
```

## Fix safety
No automatic fix.

## When it is wrong
It is a hint, but where a module that computes by a buffer, such as a loss by a centre, moves it, and is in no wrapper,
while another network is: then it is a warning. When it is meant, as with batch norm, whose averages are not reported;
when what is given is already the same on all ranks; or when code that lint cannot follow brings it together. A
function, or a class of a wrapped network, in which something is reduced or gathered is not reported.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import own_statistics
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD182",
    "statistics-of-own-batch",
    Severity.WARNING,
    advice="reduce or gather what the batch gives over the ranks before it is kept",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Moving averages and queues of this rank's batches."""
    if not facts.distributed:
        return
    for kept in own_statistics.found(facts):
        message = (
            f"each rank puts the features of its own batch into `{kept.target}`: gather them over the ranks before"
            if kept.is_queue
            else f"each rank moves `{kept.target}` by its own batch alone: reduce what is added over the ranks before"
        )
        told = Conditional(_UNLESS_MEANT if kept.is_apart else "", message)
        chain = (*kept.call.context.chain, kept.call.site)
        severity = None if kept.is_apart else Severity.HINT
        yield facts.finding(RULE, site_of(kept.module, kept.node), told, chain=chain, severity=severity)


#: nothing else shows that it is to be one for all
_UNLESS_MEANT = "unless each rank is to compute by its own, "
