"""Evaluation counts samples that the sampler repeats

## What it does
Finds evaluation over a `DistributedSampler` that pads (`drop_last` is not set), followed by a reduction of the sums
over the ranks.

## Why it harms
The sampler repeats up to `world_size - 1` samples so that all ranks get equally many. These are counted twice, so the
metric depends on the number of GPUs: slightly on large data sets, noticeably on small ones.

## Example
```python
sampler = DistributedSampler(data, shuffle=False)
with torch.no_grad():
    for x, y in DataLoader(data, sampler=sampler):
        correct += (model(x).argmax(1) == y).sum()
dist.all_reduce(correct)
```

## Use instead
```python
mine = Subset(data, range(rank, len(data), world_size))
with torch.no_grad():
    for x, y in DataLoader(mine):
        correct += (model.module(x).argmax(1) == y).sum()
dist.all_reduce(correct)
```

## Fix safety
No automatic fix: without padding, ranks get unequal numbers of batches, so the loop must not contain a collective.

## When it is wrong
When the length of the data set is a multiple of the world size. `gather_for_metrics`, and results truncated to the
length of the data set, are not reported.

## References
https://github.com/pytorch/examples/pull/980
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import Iteration
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.ranks.reach import Reached
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import walk

RULE = LintRule(
    "DD107",
    "eval-padding-skews-metric",
    Severity.HINT,
    advice="give each rank its own part without padding, and reduce sums and counts",
)

_SUMS = frozenset({"all_reduce", "reduce", "allreduce", "reduce_all", "all_gather", "all_gather_object",
                   "all_gather_into_tensor", "gather", "gather_object", "gather_all"})  # fmt: skip


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Evaluation loops over a padding sampler with a reduction in or after them, in the same function."""
    if facts.suggests(heuristics.TAKES_OUT_REPEATED):
        return
    for iteration in facts.iterations:
        sampler = loaders.sampler_of(iteration.loop.over)
        over = iteration.loop.over
        if sampler is None or over is None or over.tags & Tag.PREPARED or not iteration.context.no_grad:
            continue
        if sampler.opaque or loaders.drops_last(sampler, 5) is not False or _cut(iteration):
            continue
        reduction = _reduction(facts, iteration)
        if reduction is not None:
            message = (
                "this sampler repeats samples until all ranks have equally many, and the sums over the ranks count "
                "them twice"
            )
            related = ((iteration.loop.site, "evaluated here"), (reduction.op.site, "summed over ranks here"))
            here = sampler.site if sampler.site.file == facts.module.path else iteration.loop.site
            yield facts.finding(RULE, here, message, related=related, context=iteration.context)


def _reduction(facts: ModuleFacts, iteration: Iteration) -> Reached | None:
    """A sum over ranks in the function of the loop, in it or after it."""
    function, site = iteration.context.function, iteration.loop.site
    last = getattr(function.node, "end_lineno", 0) if function is not None else len(iteration.context.module.lines)
    for item in facts.reached:
        if item.op.op in _SUMS and item.within(site.file, site.line, last) is not None:
            return item
    return None


def _cut(iteration: Iteration) -> bool:
    """Something in the function is cut to a length: `results[: len(dataset)]`."""
    function = iteration.context.function
    tree: ast.AST = function.node if function is not None else iteration.context.module.tree
    return any(
        isinstance(node, ast.Slice) and node.lower is None and node.upper is not None and node.step is None
        for node in walk(tree)
    )
