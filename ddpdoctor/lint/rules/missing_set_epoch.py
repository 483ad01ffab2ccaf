"""DistributedSampler without set_epoch

## What it does
Finds a shuffling `DistributedSampler` whose loader is iterated in an epoch loop while nothing calls `set_epoch`.

## Why it harms
The sampler's order is a function of `seed + epoch`, and the epoch stays 0 unless it is set: every epoch visits the
data in exactly the same order.

## Example
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
for epoch in range(10):
    for batch in loader:
        step(batch)
```

## Use instead
```python
for epoch in range(10):
    sampler.set_epoch(epoch)
    for batch in loader:
        step(batch)
```

## Fix safety
Unsafe: it changes the order of the data, which is the point.

## When it is wrong
Frameworks that call it themselves (Accelerate, Lightning, Ignite, mmengine) are known. It stays silent when a file
that the script uses mentions `set_epoch`; a wrapper in a file that it cannot find is not seen.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.events import Iteration, Turn
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.things import Made
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity

RULE = LintRule("DD101", "missing-set-epoch", Severity.WARNING)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders with a shuffling sampler that go round more than once."""
    if facts.mentions("set_epoch"):
        return
    for iteration in facts.iterations:
        sampler = _sampler(iteration)
        epochs = _epochs(iteration)
        if sampler is None or epochs is None:
            continue
        message = (
            "this sampler is never told the epoch, so every epoch has the same order: "
            f"call set_epoch in the loop at line {epochs.site.line}"
        )
        related = ((epochs.site, "the epoch loop"), (iteration.turn.site, "the loader is iterated here"))
        fix = _fix(facts, sampler, epochs)
        here = sampler.site if sampler.site.file == facts.module.path else iteration.turn.site
        yield facts.finding(RULE, here, message, related=related, fix=fix)


def _sampler(iteration: Iteration) -> Made | None:
    over = iteration.turn.over
    if over is None or iteration.context.no_grad or "prepared" in over.tags:
        return None
    sampler = loaders.sampler_of(over)
    return sampler if sampler is not None and loaders.shuffles(sampler) else None


def _epochs(iteration: Iteration) -> Turn | None:
    """The loop that repeats the loader's; not one that surely runs once."""
    for turn in reversed(iteration.context.loops):
        if turn.node is iteration.turn.node:
            continue
        if isinstance(turn.node, (ast.For, ast.While)) and not loaders.runs_once(turn):
            return turn
    return None


def _fix(facts: ModuleFacts, sampler: Made, epochs: Turn) -> Fix | None:
    """Insert the call where sampler and loop stand in one function and the loop counts epochs."""
    loop = epochs.node
    name = loaders.assigned_name(facts, sampler)
    if name is None or not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return None
    if epochs.site.file != facts.module.path or not loaders.same_function(facts, sampler.site.line, epochs.site.line):
        return None
    counted = epochs.over is not None and isinstance(epochs.over.thing, Made) and (
        epochs.over.thing.path == "builtins.range")  # fmt: skip
    first = loop.body[0]
    if not counted or first.lineno == loop.lineno:
        return None
    text = f"{name}.set_epoch({loop.target.id})\n{' ' * first.col_offset}"
    at = first.col_offset + 1
    return Fix(Applicability.UNSAFE, (Edit(first.lineno, at, first.lineno, at, text),))
