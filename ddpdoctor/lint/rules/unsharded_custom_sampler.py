"""A sampler without knowledge of ranks in data-parallel training

## What it does
Finds `RandomSampler`, `WeightedRandomSampler` and `SubsetRandomSampler` in the loader of a loop with a DDP backward;
and there a `DistributedSampler` that does not divide the data: told the same rank on all ranks, or one replica, or made
for another data set than the loader reads.

## Why it harms
Each rank draws a whole epoch for itself. With equal seeds all ranks draw the same samples, and the gradients average
duplicates; with different seeds an epoch costs as much as on one GPU and visits each sample as often as there are
ranks.

## Example
```python
sampler = WeightedRandomSampler(weights, len(weights))
for batch in DataLoader(data, batch_size=64, sampler=sampler):
    model(batch).sum().backward()
```

## Use instead
```python
drawn = torch.multinomial(weights, len(weights), replacement=True, generator=torch.Generator().manual_seed(epoch))
sampler = DistributedSampler(Subset(data, drawn.tolist()))
```

## Fix safety
No automatic fix.

## When it is wrong
When the data set itself is one rank's share in a way that lint cannot see. Not reported are: data or indices that
depend on the rank, a generator or seed per rank for draws with replacement, a number of draws divided by the world
size, and loaders passed to a framework.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders, seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.tags import SHARED_OUT, Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD108",
    "unsharded-custom-sampler",
    Severity.HINT,
    advice="draw with the same generator on all ranks and divide by DistributedSampler",
)

_SAMPLERS = frozenset(
    f"torch.utils.data.{name}" for name in ("RandomSampler", "WeightedRandomSampler", "SubsetRandomSampler")
)
_RANKS = SHARED_OUT


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Samplers without ranks whose loop has a DDP backward."""
    yield from _undivided(facts)
    if facts.suggests(heuristics.SPLITS_DATA):
        return
    for iteration in facts.iterations:
        over = iteration.loop.over
        loader = loaders.loader_of(over)
        if over is None or loader is None or over.tags & Tag.PREPARED or iteration.context.no_grad:
            continue
        sampler = _sampler(loader)
        if sampler is None or _knows_ranks(facts, sampler, loader):
            continue
        ops = [op for op in facts.repeated(iteration) if op.op == "backward (DDP)"]
        if ops:
            name = sampler.path.rpartition(".")[2]
            message = f"{name} does not split by rank: each rank draws a whole epoch from all of this data"
            related = ((loader.site, "the loader"), (ops[0].site, "gradients are averaged over ranks here"))
            here = _here(facts, sampler, loader, iteration.loop.site)
            yield facts.finding(RULE, here, message, related=related, context=iteration.context)


def _starts_others(facts: ModuleFacts) -> bool:
    """Whether the program starts processes, and may run this as one itself: `run(0)`, where there is one rank."""
    return bool(facts.named(*frameworks.SPAWNING, *frameworks.PROCESSES))


def _undivided(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`DistributedSampler(data, rank=0)`, and one that counts other data."""
    for iteration in facts.iterations:
        over, context = iteration.loop.over, iteration.context
        loader, sampler = loaders.loader_of(over), loaders.sampler_of(over)
        if over is None or loader is None or sampler is None or over.tags & Tag.MAYBE or context.no_grad:
            continue
        if not any(op.op == "backward (DDP)" for op in facts.repeated(iteration)) or context.some_ranks_only:
            continue
        replicas, rank = sampler.argument(1, "num_replicas"), sampler.argument(2, "rank")
        data, read = sampler.argument(0, "dataset"), loader.argument(0, "dataset")
        here = _here(facts, sampler, loader, iteration.loop.site)
        if replicas is not None and len(replicas.atoms) > 1:
            message = "the second argument is the number of ranks and the third the rank, and not the other way round"
            yield facts.finding(RULE, here, message, context=context)
        elif replicas is not None and replicas.constant == 1:
            message = "this sampler divides for one rank: every rank trains on all of the samples"
            yield facts.finding(RULE, here, message, context=context)
        elif rank is not None and type(rank.constant) is int and not _starts_others(facts):
            message = f"every rank asks for the share of rank {rank.constant}: all train on the same samples"
            yield facts.finding(RULE, here, message, context=context)
        elif data is not None and read is not None and _apart(data, read) and _apart(read, data):
            message = "this sampler counts another data set than the loader reads"
            yield facts.finding(RULE, here, message, related=((loader.site, "the loader"),), context=context)


def _apart(one: Value, two: Value, depth: int = 4) -> bool:
    """Whether two data sets are known, and the first is neither the second nor a part of it."""
    obj, other = one.object, two.object
    if not isinstance(obj, (Instance, Made)) or not isinstance(other, (Instance, Made)) or _alike(obj, other):
        return False
    given = (*other.args, *(v for _, v in other.keywords))
    return all(one.atoms != v.atoms for v in given) and (
        depth == 0 or all(_apart(one, v, depth - 1) for v in given if isinstance(v.object, (Instance, Made)))
    )


def _alike(one: Instance | Made, two: Instance | Made) -> bool:
    """Whether both are made in one place, or of the same things."""
    same = one.info is two.info if isinstance(one, Instance) and isinstance(two, Instance) else (
        isinstance(one, Made) and isinstance(two, Made) and one.path == two.path
    )  # fmt: skip
    given = [[v.atoms for v in (*made.args, *(v for _, v in made.keywords))] for made in (one, two)]
    return one.site == two.site or (same and given[0] == given[1])


def _here(facts: ModuleFacts, sampler: Made, loader: Made, loop: SourceSite) -> SourceSite:
    return next((s for s in (sampler.site, loader.site) if s.file == facts.module.path), loop)


def _sampler(loader: Made) -> Made | None:
    given = loader.argument(3, "sampler")
    batches = loader.argument(4, "batch_sampler")
    if batches is not None:
        made = batches.object
        given = made.argument(0, "sampler") if isinstance(made, Made) and made.path.endswith(".BatchSampler") else None
    obj = given.object if given is not None else None
    sure = given is not None and isinstance(obj, Made) and not given.tags & Tag.MAYBE
    return obj if sure and isinstance(obj, Made) and obj.path in _SAMPLERS and not obj.opaque else None


def _knows_ranks(facts: ModuleFacts, sampler: Made, loader: Made) -> bool:
    given = [*sampler.args, *(v for _, v in sampler.keywords)]
    dataset = loader.argument(0, "dataset")
    if any(_by_rank(facts, v) for v in given) or (dataset is not None and _by_rank(facts, dataset)):
        return True
    if sampler.keyword("generator") is not None:
        return True
    # independent draws of each rank are a sample of the same distribution
    independent = sampler.path.endswith("WeightedRandomSampler") or sampler.argument(1, "replacement") is not None
    seeded = seeds.seedings(facts)
    return independent and any(seeds.differs_by_rank(call) for call in seeded)


def _by_rank(facts: ModuleFacts, value: Value, depth: int = 0) -> bool:
    """The value, or something that it is created from, depends on the rank."""
    if loaders.shard_tags(facts, value) & _RANKS or len(value.atoms) > 1:
        return True
    obj = value.object
    if isinstance(obj, Instance) and _asks_for_rank(obj.info.node):
        return True  # it may keep the rows of this rank alone
    if isinstance(obj, (Instance, Made)) and depth < 4:
        return any(_by_rank(facts, v, depth + 1) for v in (*obj.args, *(v for _, v in obj.keywords)))
    return False


def _asks_for_rank(cls: ast.ClassDef) -> bool:
    """Whether a class names a rank."""
    names = (last_name(node) for node in walk(cls) if isinstance(node, (ast.Name, ast.Attribute)))
    return heuristics.NAMES_RANK.found_in_any(names)
