"""The learning rate is multiplied by the number of ranks at each restart

## What it does
Finds a learning rate that a program multiplies by the number of ranks in the optimizer's groups
(`group["lr"] *= world_size`), or divides by it, after the optimizer has loaded a state that the program itself saves.

## Why it harms
The state of an optimizer holds its learning rate, and `load_state_dict` puts it in place of the one that the optimizer
was made with. What was saved is the product already. Each resume and each restart of an elastic job multiplies it
again: on 8 ranks the rate is 64 times that of one rank after the first, 512 times after the second. Nothing fails until
the loss grows without bound.

## Example
```python
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
if os.path.exists(path):
    optimizer.load_state_dict(torch.load(path)["optimizer"])
for group in optimizer.param_groups:
    group["lr"] *= dist.get_world_size()
```

## Use instead
```python
for group in optimizer.param_groups:
    group["lr"] = args.lr * dist.get_world_size()
```
or multiply `args.lr` before the optimizer is made, and leave the rate of a loaded state as it is.

## Fix safety
No automatic fix.

## When it is wrong
When the state that is loaded was saved before the rate was multiplied, or by another program. It is a hint where a
schedule is made of the optimizer: those that compute the rate from the one of the beginning put it right with their
first step. Nothing is reported where the rate is set anew after the state was loaded, nor where a condition keeps what
has loaded a state from multiplying.

## References
https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import rescaled_rates
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD190",
    "rate-scaled-again",
    Severity.WARNING,
    advice="set the rate to that of one rank times the number of ranks, or multiply before the state is loaded",
)

_UNLESS_SCHEDULED = "unless the schedule computes the rate from that of the beginning, "


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Products of rates that a loaded state has in it already."""
    said = (
        "the rate of a loaded state was multiplied by the number of ranks before it was saved: each restart multiplies "
        "it again"
    )
    for rate, loaded, saved, scheduled in rescaled_rates.found(facts):
        yield facts.finding(
            *(RULE, rate.site, Conditional(_UNLESS_SCHEDULED if scheduled else "", said)),
            related=((loaded.site, "the state is loaded here"), (saved.site, "and saved here")),
            severity=Severity.HINT if scheduled else None,
            context=rate.context,
        )
