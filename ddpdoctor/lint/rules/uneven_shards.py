"""Shards of different lengths in a loop with collectives

## What it does
Finds a loop with collectives (a DDP backward is one) over each rank's own share of the data: a strided slice such as
`files[rank::world]` or `range(rank, len(data), world)`, the elements with `index % world == rank` in a generator or a
comprehension, a part of `numpy.array_split`; directly, through a loader without `drop_last`, or through a generator
that hands on the batches of one, such as a logger. A loader with `drop_last` does not help where each element of the
share gives many samples, as a file does. Also batches that each rank packs out of its own share by how long its samples
are (`max_tokens`, `max_frames`), and a share out of which it leaves samples, or parts of them, by what is on them. As
an error, loaders whose `batch_size` or `drop_last` is not the same on all ranks.

## Why it hangs
Unless the length is divisible by the number of ranks, some ranks get one element more. At the end they wait in a
collective for ranks that have already left the loop. So they do where all shares are equally long, and the samples in
them are not: pack the batches of all data in the same way on each rank, and give each rank equally many of these.

## Example
```python
for path in paths[rank::world_size]:
    total += count(path)
    dist.all_reduce(total)
```

## Use instead
```python
even = len(paths) // world_size * world_size
for path in paths[rank:even:world_size]:
    total += count(path)
    dist.all_reduce(total)
```
Or keep the rest and pad, use `DistributedSampler`, or wrap training in `with Join([model])`.

## Fix safety
No automatic fix.

## When it is wrong
A loop that does not go back over its data gets a hint: data to evaluate on is chosen once, and often divides evenly.
When the length is divisible for a reason that the code does not show. Not reported are: `DistributedSampler`, which
pads; a slice with an upper bound, which may have been cut to size; and a loop with a `break`, which may end in time.
With `drop_last`, nothing is said of files that the program numbers itself (`torch.randperm(files)`). Batches that are
cut or filled up to another number afterwards are not reported either, nor is data whose list of samples is replaced
from outside (`data.rows = data.rows[:fewest]`).

## References
https://docs.pytorch.org/tutorials/advanced/generic_join.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.loaders import Share
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import loop_extent
from ddpdoctor.lint.interpreter.events import Iteration
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.values import WORLD, Value
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD105",
    "uneven-shards",
    Severity.WARNING,
    ("DD201",),
    advice="give all ranks equally many: cut the rest off, pad, or use DistributedSampler or Join",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loops over a shard whose body has collectives, and over batches of which the ranks have different numbers."""
    yield from _batched(facts)
    for iteration in facts.iterations:
        over = iteration.loop.over
        kind = loaders.share_of(facts, over) if over is not None and not _ends_together(iteration) else None
        through = _with_collectives(facts, iteration) if kind is not None else None
        if kind is None or through is None:
            continue
        ops = facts.repeated(through)
        # data to evaluate on is chosen once, and most often divides evenly
        trains = loaders.trains(through.loop) or any(op.op.startswith("backward") for op in ops)
        told, unless = _MESSAGES[kind]
        yield facts.finding(
            RULE,
            through.loop.site,
            Conditional("" if trains else unless, told.format(ops[0].op)),
            related=((ops[0].site, f"{ops[0].op} in each iteration"),),
            severity=Severity.WARNING if trains else Severity.HINT,
            context=through.context,
        )


def _ends_together(iteration: Iteration) -> bool:
    """Whether ranks may leave a loop at the same time, however much each of them has."""
    joined = any("join" in name.lower() for name in iteration.context.withs)
    return joined or loop_extent.limited(iteration.loop)


def _with_collectives(facts: ModuleFacts, iteration: Iteration) -> Iteration | None:
    """The loop whose turns need all ranks: this one, or one over what a generator hands on of it, such as a logger."""
    loops = [iteration, *(one for one in loaders.handed_on(facts, iteration) if not _ends_together(one))]
    return next((one for one in loops if facts.repeated(one)), None)


#: what is told, and the circumstance under which a loop that does not train is right
_MESSAGES = {
    Share.CUT: (
        "ranks get shards of different lengths here, and each iteration needs all of them in {}: "
        "ranks with longer shards wait at the end for ranks that have left",
        "unless all shards of this data are equally long, ",
    ),
    Share.PACKED: (
        "each rank makes batches of its own samples here, as many as these decide, and each iteration needs all ranks "
        "in {}: ranks with more batches wait at the end for ranks that have left",
        "unless all ranks come to equally many, ",
    ),
}


def _batched(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders whose batches are larger on some ranks, or of which only some drop the last one."""
    for iteration in facts.iterations:
        loader = loaders.loader_of(iteration.loop.over)
        if loader is None or loop_extent.limited(iteration.loop) or loader.opaque:
            continue
        given = {"batch_size": loader.argument(1, "batch_size"), "drop_last": loader.argument(8, "drop_last")}
        name = next((name for name, value in given.items() if value is not None and _differs(value)), "")
        ops = facts.repeated(iteration) if name else []
        if ops:
            message = (
                f"{name} is not the same on all ranks, so they have different numbers of batches, and each iteration "
                f"needs all of them in {ops[0].op}"
            )
            related = ((ops[0].site, f"{ops[0].op} in each iteration"),)
            yield facts.finding(
                *(RULE, iteration.loop.site, message),
                related=related, severity=Severity.ERROR, context=iteration.context,
            )  # fmt: skip


def _differs(value: Value) -> bool:
    """Whether ranks certainly have different ones."""
    return value.known and len({value.at(rank) for rank in range(WORLD)}) > 1
