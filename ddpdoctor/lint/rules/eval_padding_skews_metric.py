"""Evaluation counts samples that the sampler repeats

## What it does
Finds evaluation over a `DistributedSampler` that pads (`drop_last` is not set), followed by a reduction of the sums
over the ranks; and `accelerator.gather` or `accelerator.reduce` of what an evaluation got from a loader that
Accelerate has prepared, which pads in the same way.

## Why it harms
The sampler repeats up to `world_size - 1` samples so that all ranks get equally many. These are counted twice, so the
metric depends on the number of GPUs: slightly on large data sets, noticeably on small ones. Accelerate fills up whole
batches: up to a batch of each rank but one is repeated. `gather` keeps what was repeated, `gather_for_metrics` does
not.

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
With Accelerate, inside the loop:
```python
for x, y in loader:
    guesses, labels = accelerator.gather_for_metrics((model(x).argmax(1), y))
    correct += (guesses == labels).sum()
```

## Fix safety
No automatic fix: without padding, ranks get unequal numbers of batches, so the loop must not contain a collective.

## When it is wrong
When the length of the data set is a multiple of the world size (with Accelerate, of the batches of all ranks), which is
so for many of the usual sets and numbers of ranks; and where a few samples among thousands change nothing: a hint.
Not reported are `gather_for_metrics`, results truncated to the length of the data set, an `Accelerator` that was told
`even_batches=False`, a loader that drops its last batch, which holds what is repeated, and with Accelerate a loop that
may break off before the end of the data.

## References
https://github.com/pytorch/examples/pull/980
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import evaluations, loaders
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Iteration
from ddpdoctor.lint.knowledge import collectives, frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD107",
    "eval-padding-skews-metric",
    Severity.HINT,
    advice="give each rank its own part without padding, and reduce sums and counts",
)

#: calls whose first argument is summed or put together
_SUMMING = tuple(f"torch.distributed.{name}" for name in ("all_reduce", "reduce"))

#: methods of an `Accelerator` that put together what the ranks have, with all that was repeated
_KEEPING = ("gather", "reduce")
#: how Accelerate is told to leave the last batches as they are
_UNEVEN_WORD = "even_batches"
#: methods by which a list or a meter takes in a value
_TAKING_IN = frozenset({"append", "extend", "add", "update"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Evaluation loops over padded data with a reduction in or after them, in the same function."""
    yield from _by_sampler(facts)
    yield from _by_accelerate(facts)


def _by_sampler(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Evaluation over a `DistributedSampler` that pads."""
    for iteration in facts.iterations:
        sampler = loaders.sampler_of(iteration.loop.over)
        if sampler is None or not _repeats(iteration, sampler) or not evaluations.evaluates(facts, iteration):
            continue
        reduction = _reduction(facts, iteration) if not _cut(iteration) else None
        if reduction is not None and not _takes_out_repeated(facts, iteration):
            message = Conditional(
                "unless the number of samples is a multiple of the number of ranks, ",
                "this sampler repeats samples until all ranks have equally many, and the sums over the ranks count "
                "them twice",
            )
            *_, (loop, _) = evaluations.functions(facts, iteration)
            related = ((loop, "evaluated here"), (reduction, "summed over ranks here"))
            here = sampler.site if sampler.site.file == facts.module.path else loop
            yield facts.finding(RULE, here, message, related=related, context=iteration.context)


def _repeats(iteration: Iteration, sampler: Made) -> bool:
    """Whether the loop gets samples that the sampler repeats: nothing drops them, and no framework is in between."""
    over = iteration.loop.over
    if over is None or over.tags & Tag.PREPARED or sampler.opaque or loaders.drops_last(sampler, 5) is not False:
        return False
    # what is repeated comes last, in the batch that the loader drops unless it is full
    loader = loaders.loader_of(over)
    return loader is None or not loaders.drops_last(loader, 8)


def _reduction(facts: ModuleFacts, iteration: Iteration) -> SourceSite | None:
    """A sum over ranks in the function of the evaluation, in the loop or after it, or of what that returns."""
    around = list(evaluations.functions(facts, iteration))
    for site, function in around:
        last = getattr(function, "end_lineno", None) or len(iteration.context.module.lines)
        for item in facts.reached:
            if item.op.op in collectives.PUTTING_TOGETHER and item.within(site.file, site.line, last) is not None:
                return item.op.site
    # of the calls that lead to the loop, the one of the evaluation
    chain = iteration.context.chain[: len(iteration.context.chain) + 1 - len(around)]
    if not chain:
        return None
    calls = (call for call in facts.named(*_SUMMING) if call.args and call.args[0].tags & Tag.BATCH)
    after = (c.site for c in calls if c.site.file == chain[-1].file and c.context.chain == chain[:-1])
    return next((site for site in after if site.line >= chain[-1].line), None)


def _takes_out_repeated(facts: ModuleFacts, iteration: Iteration) -> bool:
    """Whether a word in the evaluation, or in what it calls, says that repeated samples are taken out again."""
    there = evaluations.words(facts, iteration) | evaluations.words_of_called(facts, iteration)
    return not there.isdisjoint(heuristics.TAKES_OUT_REPEATED.words)


def _by_accelerate(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Evaluation over a loader that Accelerate has prepared, with everything gathered."""
    calls = [call for call in facts.methods(*_KEEPING) if call.site.file == facts.module.path and _gathers(call)]
    if not calls or any(_UNEVEN_WORD in m.words for m in facts.modules):
        return
    for iteration in facts.iterations:
        if not _is_padded(iteration.loop.over) or not evaluations.evaluates(facts, iteration):
            continue
        node = iteration.loop.node
        if any(isinstance(part, ast.Break) for part in walk(node)) or _cut(iteration, _filled_in(node)):
            continue  # the end of the data, where samples are repeated, is perhaps not reached, or cut off
        call = next((call for call in calls if _takes_from(call, iteration)), None)
        if call is not None and not _takes_out_repeated(facts, iteration):
            message = Conditional(
                "unless the samples fill the batches of all ranks, ",
                "Accelerate repeats samples in the last batches until all ranks have equally many, and "
                f"{call.method} keeps them: they are counted twice",
            )
            related = ((iteration.loop.site, "evaluated here"),)
            yield facts.finding(RULE, call.site, message, related=related, context=call.context)


def _gathers(call: CallEvent) -> bool:
    """Whether it gathers by Accelerate."""
    made = call.receiver.object if call.receiver is not None else None
    return isinstance(made, Made) and frameworks.kind(made.path) == frameworks.ACCELERATOR


def _is_padded(over: Value | None) -> bool:
    """Whether a framework has divided the loader among the ranks, and its last batches are kept."""
    loader = loaders.loader_of(over)
    if over is None or loader is None or not over.tags & Tag.PREPARED:
        return False
    return loaders.drops_last(loader, 8) is False and loader.argument(4, "batch_sampler") is None


def _takes_from(call: CallEvent, iteration: Iteration) -> bool:
    """Whether what is gathered comes from this loop: gathered in it, or after it from what it has filled."""
    loop = iteration.loop.node
    filled = not _filled_in(loop).isdisjoint(name for arg in call.node.args for name in names_in(arg))
    if any(inside.node is loop for inside in call.context.loops):
        return filled or any(value.tags & Tag.BATCH for value in call.args)
    after = call.site.file == iteration.loop.site.file and call.site.line > iteration.loop.site.line
    return filled and after and call.context.function is iteration.context.function


def _filled_in(loop: ast.AST) -> set[str]:
    """Variables that the loop stores into, adds to or appends to."""
    found = {n.id for n in walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKING_IN:
            found.add(last_name(node.func.value))
    return found


def _cut(iteration: Iteration, results: set[str] | None = None) -> bool:
    """Something in the function is cut to a length: `results[: len(dataset)]`; where it is known what the loop fills,
    something in the loop or of these. A length of the batch in hand or of what the loop computes of it, a number and a
    later dimension (`logits[:, :-1]`) are not the length of a data set."""
    function, loop = iteration.context.function, iteration.loop.node
    tree: ast.AST = function.node if function is not None else iteration.context.module.tree
    target = getattr(loop, "target", None)
    of_batch = names_in(target) if target is not None else set()
    computed = {n.id for n in walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {"len"}
    cut = [
        node for node in walk(tree) if isinstance(node, ast.Subscript) and _ends_early(node.slice, of_batch, computed)
    ]
    if results is None:
        return bool(cut)
    return any(not results.isdisjoint(names_in(node.value)) for node in cut) or any(
        node in cut for node in walk(loop) if isinstance(node, ast.Subscript)
    )


def _ends_early(index: ast.expr, of_batch: set[str], computed: set[str]) -> bool:
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if not isinstance(first, ast.Slice) or first.lower is not None or first.upper is None or first.step is not None:
        return False
    names = names_in(first.upper)
    return bool(names - computed) and names.isdisjoint(of_batch)
