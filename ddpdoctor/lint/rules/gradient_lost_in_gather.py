"""No gradient flows back through features that were gathered from all ranks

## What it does
Finds a cross entropy of products of a rank's own features with those of all ranks, which `dist.all_gather` or
`dist.all_gather_into_tensor` has gathered of what a wrapped model gave.

## Why it harms
These collectives have no backward: what they gather is a constant, also this rank's own part. The loss is that of the
whole batch, its gradients are not. A feature is moved towards and away from the others by its own row of the logits
alone: of what the columns ask of it, on this rank and on all others, nothing comes back. Nothing fails, and the model
learns less than in one process with the same batch.

## Example
```python
parts = [torch.zeros_like(texts) for _ in range(dist.get_world_size())]
dist.all_gather(parts, texts)
loss = F.cross_entropy(images @ torch.cat(parts).t() / temperature, targets)
```

## Use instead
```python
parts = torch.distributed.nn.functional.all_gather(texts)
loss = F.cross_entropy(images @ torch.cat(parts).t() / temperature, targets)
```

## Fix safety
No automatic fix: gradients become larger.

## When it is wrong
When the features are meant as constants, such as those of a teacher. What is detached or computed in `torch.no_grad()`
is not reported, nor where this rank's own part is put back in place: `parts[rank] = texts`.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import cross_entropies
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD158",
    "gradient-lost-in-gather",
    Severity.WARNING,
    advice="gather with torch.distributed.nn.functional.all_gather, which has a backward",
)

_GATHERS = tuple(f"torch.distributed.{name}" for name in ("all_gather", "all_gather_into_tensor", "all_gather_single"))
_LOST = Tag.AGAINST_ALL | Tag.NO_GRADIENT


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Losses of products with what all ranks have, through which no gradient flows."""
    for call in cross_entropies.calls(facts):
        logits = call.argument(0, "input")
        if logits is None or logits.tags & _LOST != _LOST or call.context.no_grad:
            continue
        message = (
            "no gradient flows back through the columns of these logits: all_gather has no backward, so what it "
            "gathered, also this rank's own features, is a constant"
        )
        gather = _gather(facts, call)
        related = ((gather.site, "gathered here"),) if gather is not None else ()
        yield facts.finding(RULE, call.site, message, related=related, context=call.context)


def _gather(facts: ModuleFacts, loss: CallEvent) -> CallEvent | None:
    """The last gather before a loss of what a wrapped model gave."""
    gathers = facts.named(*_GATHERS)
    before = (c for c in gathers if c.index < loss.index and any(value.tags & Tag.DDP for value in c.args[1:]))
    return max(before, key=lambda c: c.index, default=None)
