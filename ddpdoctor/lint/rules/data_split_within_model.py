"""Ranks that compute one model together get different data

## What it does
Finds a `DistributedSampler` over all ranks (without `num_replicas` and `rank`, or with those of the whole job) in a
program that divides layers over ranks by tensor parallelism (`parallelize_module` with `ColwiseParallel` or
`RowwiseParallel`).

## Why it harms
The ranks of a tensor-parallel group each compute a part of every layer for the same samples, and add the parts up. With
different samples, sums are made of parts that do not belong together. Nothing fails.

## Example
```python
mesh = init_device_mesh("cuda", (world // 2, 2), mesh_dim_names=("dp", "tp"))
parallelize_module(model, mesh["tp"], plan)
sampler = DistributedSampler(data)
```

## Use instead
```python
data_mesh = mesh["dp"]
sampler = DistributedSampler(data, num_replicas=data_mesh.size(), rank=data_mesh.get_local_rank())
```

## Fix safety
No automatic fix.

## When it is wrong
Where only one rank is along the dimension of tensor parallelism, as the message says first. Programs that broadcast the
batches inside of their training loop are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, WORLD_NUMBER, Value
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD154",
    "data-split-within-model",
    Severity.WARNING,
    advice="pass num_replicas and rank of the data-parallel dimension of the mesh",
)

_PARALLEL = "torch.distributed.tensor.parallel"
#: plans by which the ranks of a group compute the same samples
_PLANS = tuple(f"{_PARALLEL}.{name}" for name in ("ColwiseParallel", "RowwiseParallel", "SequenceParallel"))


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Samplers over all ranks in programs with tensor parallelism that train."""
    divided = facts.named(f"{_PARALLEL}.parallelize_module")
    if not divided or not facts.named(*_PLANS) or not facts.methods("backward") or _broadcasts(facts):
        return
    for sampler in facts.named(aliases.SAMPLER):
        shuffle = sampler.argument(3, "shuffle")
        beside = [call for call in divided if call.context.calls[:1] == sampler.context.calls[:1]]
        # data to evaluate on is seldom shuffled
        if not beside or (shuffle is not None and shuffle.constant is False) or not _over_all(sampler):
            continue
        message = Conditional(
            "where several ranks divide a layer, ",
            "this sampler gives each of them other samples, though they compute one model together: pass num_replicas "
            "and rank of the mesh's data-parallel dimension",
        )
        related = ((beside[0].site, "layers are divided over ranks here"),)
        yield facts.finding(RULE, sampler.site, message, related=related, context=sampler.context)


def _over_all(sampler: CallEvent) -> bool:
    """Whether it divides the data over all ranks of the job."""
    replicas, rank = sampler.argument(1, "num_replicas"), sampler.argument(2, "rank")
    return not sampler.keyword("*") and not sampler.keyword("**") and (
        _is_default(replicas, WORLD_NUMBER) and _is_default(rank, RANK_NUMBERS)
    )  # fmt: skip


def _is_default(given: Value | None, whole: Value) -> bool:
    """Whether nothing is given, or what torch takes by default."""
    if given is None or (given.known and given.constant is None):
        return True
    return given.atoms == whole.atoms and bool(given.tags & (Tag.RANK | Tag.WORLD))


def _broadcasts(facts: ModuleFacts) -> bool:
    """Whether something in a loop is sent to other ranks, which may be the batch."""
    names = ((call.path or call.method).rpartition(".")[2] for call in facts.calls if call.context.loops)
    return any("broadcast" in name or "scatter" in name for name in names)
