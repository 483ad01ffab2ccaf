"""The state of numpy's generator is the same in every worker

## What it does
For torch before 1.9, which the settings or the texts of the repository ask for: finds a `DataLoader` with worker
processes and without `worker_init_fn` over a data set, or with transforms, that draw from numpy's global generator.

## Why it harms
Workers are forked with the parent's numpy state, and torch before 1.9 seeds only its own generator and Python's. All
workers of a rank draw the same augmentations, and the same again in every epoch.

## Example
```python
loader = DataLoader(data, num_workers=4)
```

## Use instead
```python
def seed_worker(index):
    numpy.random.seed(torch.initial_seed() % 2**32)


loader = DataLoader(data, num_workers=4, worker_init_fn=seed_worker)
```

## Fix safety
No automatic fix.

## When it is wrong
Newer versions of torch seed numpy in each worker, and nothing is reported for them: it is told only where a text of the
repository asks for a version before 1.9, and none for a later one. Ranks with equal seeds are DD131.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders, random_draws
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.facts.random_draws import Draw
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Generator
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD134",
    "worker-seed-missing",
    Severity.HINT,
    words=frozenset({"num_workers"}),
    advice="pass a worker_init_fn that seeds numpy, or use torch 1.9 or later",
)

#: from here on each worker seeds numpy by itself
_SEEDED = (1, 9)
_BEFORE = "where torch is older than 1.9, "
_DRAWING = tuple(path for path in randomness.DRAWS if Generator.NUMPY in randomness.FUNCTIONS[path].generators)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders with workers over data sets that draw from numpy."""
    unseen = False
    for call in facts.named(aliases.LOADER):
        made = loaders.loader_of(call.result)
        if made is None or made.opaque or call.keyword("worker_init_fn") is not None or not _has_workers(call):
            continue
        draw = random_draws.in_loader(facts.analysis, call, _DRAWING)
        if draw is None and not unseen and _is_for_training(call) and not facts.suggests(heuristics.WORKER_SEED):
            # of the loaders of which it is not seen what they load, one is enough
            draw = random_draws.in_made(facts.analysis, _DRAWING)
            unseen = True
        if draw is not None:
            yield _found(facts, call, draw)


def _found(facts: ModuleFacts, loader: CallEvent, draw: Draw) -> Finding | None:
    message = "the data set draws from numpy, whose state is the same in every worker: seed each worker"
    older = facts.torch_version < _SEEDED
    if not older and (draw.by_sample or not _is_for_training(loader)):
        return None  # workers part by themselves where the samples decide how much is drawn; evaluations draw little
    return facts.finding(
        RULE,
        loader.site,
        message if older else Conditional(_BEFORE, message),
        related=((draw.site, "drawn here"),),
        context=loader.context,
        severity=Severity.HINT,
        unconfirmed=None if older else Unconfirmed(loader.site),
    )


def _has_workers(call: CallEvent) -> bool:
    """Whether it is given workers: a number, or a setting."""
    given = call.argument(5, "num_workers")
    return given is not None and (not given.known or (isinstance(given.constant, int) and given.constant > 0))


def _is_for_training(loader: CallEvent) -> bool:
    """Whether it takes samples in a random order, as far as its sampler tells."""
    shuffle, given = loader.argument(2, "shuffle"), loaders.given_sampler(loader.result)
    if shuffle is not None and shuffle.constant is True:
        return True
    sampler = loaders.sampler_of(loader.result)
    return loaders.shuffles(sampler) if sampler is not None else given is not None and shuffle is None
