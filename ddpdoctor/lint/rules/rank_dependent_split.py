"""Train and validation data are split differently on each rank

## What it does
Finds `random_split` or `train_test_split` without its own generator after the global generators were seeded by rank, or
(as a warning) in a script that seeds none at all; the method of a table of the package `datasets` before anything is
seeded, where something divides what it gives between the ranks; and a list that is shuffled after seeding by rank and
then split in two.

## Why it harms
Each rank draws another split, so samples that one rank validates on are training samples of the others. With two ranks
and a 10 % split, 90 of rank 0's 100 validation samples were trained on. The score is too good, and nothing shows it.

## Example
```python
torch.manual_seed(seed + rank)
train, val = random_split(data, [900, 100])
```

## Use instead
```python
generator = torch.Generator().manual_seed(seed)
train, val = random_split(data, [900, 100], generator=generator)
```

## Fix safety
No automatic fix.

## When it is wrong
When the split is made on one rank and sent to the others in code that lint cannot see. Not reported are splits of a
library's test data, on which nothing is trained, and what the process that starts the ranks splits.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import equal_draws, reordered_tables, seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Use
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import SHARED_OUT
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD132",
    "rank-dependent-split",
    Severity.ERROR,
    advice="split with a generator of its own that has the same seed on all ranks",
)


_OTHERS = "every rank draws a different split and trains on samples that others validate on"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Splits from a generator that was last seeded with the rank."""
    yield from _library(facts)
    yield from _tables(facts)
    yield from _by_hand(facts)


def _library(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Functions that split."""
    for path in randomness.paths(Use.SPLITS):
        row, seeders = randomness.FUNCTIONS[path], _seeders(path)
        own = row.own
        for call in facts.named(path):
            generator = call.argument(row.own_at, own)
            given = generator is not None and not (generator.known and generator.constant is None)
            before = [c for c in facts.named(*seeders) if c.index < call.index]
            if given or call.opaque or call.context.some_ranks_only or _of_no_training(call):
                continue
            if not before:
                if seeds.never(facts, call):
                    yield facts.finding(RULE, call.site, f"nothing is seeded, so {_OTHERS}: pass {own}= with the same "
                                        "seed everywhere", severity=Severity.WARNING, context=call.context)  # fmt: skip
                continue
            last = max(before, key=lambda c: c.index)
            if seeds.differs_by_rank(last) and last.args:
                message = (
                    f"the generator was seeded with the rank, so {_OTHERS}: pass {own}= with the same seed everywhere"
                )
                related = ((last.site, "seeded by rank here"),)
                yield facts.finding(RULE, call.site, message, related=related, context=call.context)


def _tables(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`rows.train_test_split(test_size=0.1)` of the package `datasets`, before anything is seeded."""
    for call in facts.methods("train_test_split"):
        divided = reordered_tables.divided(facts, call) if reordered_tables.splits_by_itself(facts, call) else None
        if divided is not None:
            message = f"nothing is seeded yet, so {_OTHERS}: pass seed= with the same number everywhere"
            related = ((divided.site, "divided between the ranks here"),)
            yield facts.finding(
                *(RULE, call.site, message), related=related, severity=Severity.WARNING, context=call.context
            )


def _of_no_training(call: CallEvent) -> bool:
    """Whether what is split is a library's data set for tests: `MNIST(place, train=False)`."""
    data = call.args[0].object if call.args else None
    chosen = dict(data.keywords) if isinstance(data, Made) else {}
    return any(name in chosen and chosen[name].constant == value for name, value in _FOR_TESTS)


#: how the data sets of torchvision are asked for the part that nothing is trained on
_FOR_TESTS = (("train", False), ("split", "test"), ("split", "val"))


def _seeders(path: str) -> tuple[str, ...]:
    """The functions that seed the generator which a function draws from."""
    return randomness.paths(Use.SEEDS, of=randomness.FUNCTIONS[path].generators[0])


def _by_hand(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`random.shuffle(files)`, then `files[:n]` and `files[n:]`."""
    for path in randomness.paths(Use.SHUFFLES, Use.ORDERS):
        seeders = _seeders(path)
        for call in facts.named(path):
            name = _shuffled(call)
            before = [c for c in facts.named(*seeders) if c.index < call.index]
            # for example support and query of an episode: each iteration, or each sample, has its own draw
            again = (
                bool(call.context.loops) or equal_draws.in_dataset(facts, call) or call.keyword("generator") is not None
            )
            if (
                not name
                or again
                or not before
                or call.context.some_ranks_only
                or facts.suggests(heuristics.SENDS_OBJECTS)
            ):
                continue
            last = max(before, key=lambda c: c.index)
            own = bool(call.args) and call.args[0].tags & SHARED_OUT
            if not own and last.args and seeds.differs_by_rank(last) and _cut_in_two(call, name):
                message = f"the generator was seeded with the rank, so {_OTHERS}: shuffle with random.Random(seed)"
                yield facts.finding(RULE, call.site, message, related=((last.site, "seeded by rank here"),),
                                    severity=Severity.WARNING, context=call.context)  # fmt: skip


def _shuffled(call: CallEvent) -> str:
    """The variable that is in another order: what is shuffled in place, or what a permutation is assigned to."""
    if call.path.endswith(".shuffle"):
        return call.node.args[0].id if call.node.args and isinstance(call.node.args[0], ast.Name) else ""
    for node in call.context.module.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name) and node.lineno <= call.site.line <= (node.end_lineno or 0):
            return target.id
    return ""


def _cut_in_two(call: CallEvent, name: str) -> bool:
    """After the call, in its function, the list is split at one place, and both parts are used: `x[:n]` and `x[n:]`, or
    `x[n:m]`."""
    function = call.context.function
    tree: ast.AST = function.node if function is not None else call.context.module.tree
    heads: set[str] = set()
    tails: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            cut = node.slice if node.lineno > call.site.line else None
            if isinstance(cut, ast.Slice) and cut.step is None:
                if cut.lower is None and cut.upper is not None:
                    heads.add(text_of(cut.upper))
                elif cut.lower is not None:
                    tails.add(text_of(cut.lower))
    return bool(heads & tails)
