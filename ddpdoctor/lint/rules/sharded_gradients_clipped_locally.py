"""Gradients of a sharded model are clipped by each rank's own norm

## What it does
Finds `torch.nn.utils.clip_grad_norm_` on the parameters of a model that is wrapped in `FullyShardedDataParallel`.

## Why it harms
Each rank has a shard of the gradients, and the function measures that shard alone. The ranks scale their shards by
different factors, none of which is that of the whole gradient: the direction of the step is wrong, and the norm that is
logged is too small. Nothing hangs, and nothing is reported.

## Example
```python
model = FullyShardedDataParallel(net)
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
```

## Use instead
```python
model.clip_grad_norm_(1.0)
```

## Fix safety
No automatic fix.

## When it is wrong
Where the strategy is `NO_SHARD` each rank has all gradients: a strategy that cannot be read makes the finding
conditional, `NO_SHARD` silences it. Parameters that `fully_shard` distributes are tensors of their own kind, whose norm
is that of all ranks: this function is right for them, and they are not reported.

## References
https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import fsdp, wrapping
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import External, Made
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD168",
    "sharded-gradients-clipped-locally",
    Severity.ERROR,
    advice="call the model's own clip_grad_norm_, on all ranks",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Norms of the shards of one rank."""
    for call in facts.named(*fsdp.NORMS):
        model = fsdp.parameters_of(call.args[0]) if call.args else None
        if model is None or not wrapping.is_fsdp(model) or fsdp.is_sharded_in_place(facts.analysis, model):
            continue
        made = model.object
        assert isinstance(made, Made)
        strategy = _strategy(made)
        if strategy == "NO_SHARD":
            continue
        said = "each rank clips its shard of the gradients by the norm of this shard alone, not of the whole"
        unsure = "unless the strategy is NO_SHARD, " if not strategy else ""
        yield facts.finding(
            *(RULE, call.site, Conditional(unsure, said)),
            related=((made.site, "wrapped here"),),
            context=call.context,
            severity=Severity.WARNING if unsure else None,
        )


def _strategy(made: Made) -> str:
    """The name of the sharding strategy, "" if it is not known."""
    given = made.argument(2, "sharding_strategy")
    if given is None:
        return "" if made.opaque else "FULL_SHARD"
    return given.object.path.rpartition(".")[2] if isinstance(given.object, External) else ""
