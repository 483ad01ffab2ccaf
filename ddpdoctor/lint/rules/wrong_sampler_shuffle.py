"""A sampler that shuffles evaluation, or does not shuffle training

## What it does
Finds `DistributedSampler(shuffle=False)` in a training loop of several epochs, and a `DistributedSampler` left at its
default `shuffle=True` in an evaluation loop.

## Why it harms
Training without shuffling shows each rank the same samples in the same order in every epoch: convergence suffers, and
nothing shows it. A shuffled evaluation gives different batches from run to run, and results that cannot be put back
into the order of the data set.

## Example
```python
sampler = DistributedSampler(validation)
with torch.no_grad():
    for batch in DataLoader(validation, sampler=sampler):
        outputs.append(model(batch))
```

## Use instead
```python
sampler = DistributedSampler(validation, shuffle=False)
```

## Fix safety
Safe for evaluation: only the order changes. None for training.

## When it is wrong
When the order is intended: a curriculum, sequences, a random part of the validation data.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import edits, loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import Iteration
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity

RULE = LintRule("DD109", "wrong-sampler-shuffle", Severity.HINT, advice="shuffle training and not evaluation")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Samplers by the loop that their loader is iterated in."""
    trained = {id(s) for i in facts.iterations if (s := loaders.sampler_of(i.loop.over)) and not i.context.no_grad}
    for iteration in facts.iterations:
        over = iteration.loop.over
        sampler = loaders.sampler_of(over)
        if sampler is None or over is None or over.tags & Tag.PREPARED:
            continue
        here = sampler.site if sampler.site.file == facts.module.path else iteration.loop.site
        related = ((iteration.loop.site, "iterated here"),)
        if iteration.context.no_grad:
            left = sampler.argument(3, "shuffle") is None and not sampler.opaque
            if left and id(sampler) not in trained:
                message = "evaluation is shuffled: shuffle=True is this sampler's default"
                fix = _fix(facts, sampler)
                yield facts.finding(RULE, here, message, related=related, fix=fix, context=iteration.context)
        elif _unshuffled_training(facts, iteration, sampler):
            message = "training is not shuffled: every epoch shows each rank the same samples in the same order"
            yield facts.finding(RULE, here, message, related=related, context=iteration.context)


def _unshuffled_training(facts: ModuleFacts, iteration: Iteration, sampler: Made) -> bool:
    shuffle = sampler.argument(3, "shuffle")
    if shuffle is None or not shuffle.known or shuffle.constant is not False:
        return False
    outer = [t for t in iteration.context.loops if t.node is not iteration.loop.node and not loaders.runs_once(t)]
    return bool(outer) and any(op.op.startswith("backward") for op in facts.repeated(iteration))


def _fix(facts: ModuleFacts, sampler: Made) -> Fix | None:
    node = sampler.node
    if node is None or sampler.site.file != facts.module.path or (not node.args and not node.keywords):
        return None
    return Fix(Applicability.SAFE, (edits.with_argument(facts.module, node, "shuffle=False"),))
