"""What the ranks found is joined in another order than that of the data set

## What it does
Finds results of a loop over a loader with a `DistributedSampler` which are gathered afterwards, joined rank by rank by
`torch.cat`, and cut to the length of the data set: `torch.cat(parts)[: len(dataset)]`. And a loop over ranks that
receives from any of them, `dist.recv(parts[i])` without `src`, into the place of the rank whose turn it is.

## Why it harms
The sampler deals the samples out in turn: rank 0 has the samples 0, 4, 8 ... of four ranks. Joined rank by rank, the
results belong to other samples than their places say. The samples that the sampler repeats are at the end of several
ranks' parts, so that the cut keeps them and drops others. A receive from any rank takes what comes first: with two
senders or more the places are in the order of arrival. Nothing fails.

## Example
```python
loader = DataLoader(data, batch_size, sampler=DistributedSampler(data, shuffle=False))
mine = torch.cat([score(model(x), y) for x, y in loader])
parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
dist.all_gather(parts, mine)
scores = torch.cat(parts)[: len(data)]
```

## Use instead
```python
scores = torch.stack(parts, dim=1).flatten(0, 1)[: len(data)]
```

## Fix safety
No automatic fix.

## When it is wrong
When only a mean is taken of the results, and the length of the data set is a multiple of the number of ranks. Not
reported where the function gathers several things, such as guesses and labels, or the samples' numbers, and receives
whose result, the rank of the sender, is used. What is received may itself say who has sent it.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import arrivals, cut_gathers
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD159",
    "gathered-out-of-order",
    Severity.WARNING,
    advice="join the parts in turn: torch.stack(parts, dim=1).flatten(0, 1); receive from a rank by src=rank",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Results of all ranks that are joined rank by rank and read as those of a data set."""
    message = (
        "the sampler deals the samples out in turn, and this joins what the ranks found one rank after the other: cut "
        "to the length of the data set, it is not in its order, and still has samples that the sampler repeats"
    )
    for one in cut_gathers.found(facts):
        related = ((one.cut, "cut here"), (one.sampler.site, "dealt out here"))
        yield facts.finding(RULE, one.joined.site, message, related=related, context=one.joined.context)
    yield from _by_arrival(facts)


def _by_arrival(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Receives from any rank, into places that count the ranks."""
    for call, loop in arrivals.taken_for_order(facts):
        message = Conditional(
            "unless what is received says who sent it, ",
            "this takes from any rank what arrives first for that of the rank whose turn it is in the loop: where two "
            "ranks or more send, their messages are mixed up",
        )
        yield facts.finding(RULE, call.site, message, related=((loop.site, "the loop"),), context=call.context)
