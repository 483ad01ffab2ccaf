"""A sampler and shuffle=True

## What it does
Finds `DataLoader(sampler=..., shuffle=True)` where the sampler is certainly not None, a `batch_sampler` together with
any option that it determines (`shuffle`, `sampler`, `drop_last`, a `batch_size`), and `shuffle=True` for an
`IterableDataset`.

## Why it harms
torch raises ValueError: the options are mutually exclusive, and an iterable data set determines its own order.

## Example
```python
DataLoader(data, sampler=DistributedSampler(data), shuffle=True)
```

## Use instead
```python
DataLoader(data, sampler=DistributedSampler(data))
```

## Fix safety
Safe: `shuffle=True` is removed; the loader cannot be built with it.

## When it is wrong
`shuffle=(sampler is None)` is not reported. A sampler that is None in some runs is a warning: the others fail.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values import loader_join
from ddpdoctor.lint.values.abstract_objects import Instance
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.truths import surely_true
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD104", "sampler-shuffle-conflict", Severity.ERROR, advice="leave out shuffle: the sampler decides the order"
)
_ITERABLE = "torch.utils.data.IterableDataset"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders with both."""
    for call in facts.named(aliases.LOADER):
        sampler, batches = call.argument(3, "sampler"), call.argument(4, "batch_sampler")
        shuffled = _is(call.argument(2, "shuffle"), True)
        if batches is not None and surely_true(batches):
            other = _beside_batches(call, sampler, shuffled=shuffled)
            if other:
                message = f"DataLoader raises ValueError for a batch_sampler together with {other}"
                yield facts.finding(RULE, call.site, message, context=call.context)
        elif shuffled and sampler is not None and surely_true(sampler):
            message = "DataLoader raises ValueError for a sampler together with shuffle=True: the sampler shuffles"
            yield facts.finding(RULE, call.site, message, fix=_fix(facts, call), context=call.context)
        elif shuffled and sampler is not None and _sometimes(sampler):
            message = (
                "where there is a sampler, DataLoader raises ValueError for it together with shuffle=True: write "
                "shuffle=(sampler is None)"
            )
            yield facts.finding(RULE, call.site, message, context=call.context, severity=Severity.WARNING)
        elif shuffled and _iterable(facts, call.argument(0, "dataset")):
            message = "DataLoader raises ValueError for an IterableDataset together with shuffle=True"
            yield facts.finding(RULE, call.site, message, fix=_fix(facts, call), context=call.context)


def _sometimes(sampler: Value) -> bool:
    """Whether it is a DistributedSampler where the job has several ranks."""
    made = loader_join.made_of(sampler)
    return made is not None and made.path == aliases.SAMPLER and bool(sampler.tags & Tag.MAYBE)


def _is(value: Value | None, constant: object) -> bool:
    return value is not None and value.known and value.constant is constant


def _beside_batches(call: CallEvent, sampler: Value | None, *, shuffled: bool) -> str:
    """Options passed to a loader that its `batch_sampler` determines, "" if there are none or they are not known."""
    if shuffled:
        return "shuffle=True"
    if sampler is not None and surely_true(sampler):
        return "a sampler"
    if _is(call.argument(8, "drop_last"), True):
        return "drop_last=True"
    size = call.argument(1, "batch_size")
    given = size is not None and size.known and isinstance(size.constant, int) and size.constant > 1
    return f"batch_size={size.constant}" if given and size is not None else ""


def _iterable(facts: ModuleFacts, data: Value | None) -> bool:
    obj = data.object if data is not None and surely_true(data) else None
    return isinstance(obj, Instance) and _ITERABLE in external_bases(facts.analysis, obj.info)


def _fix(facts: ModuleFacts, call: CallEvent) -> Fix | None:
    """Remove the keyword and the comma before it."""
    if call.site.file != facts.module.path:
        return None
    given: list[ast.expr | ast.keyword] = [*call.node.args, *call.node.keywords]
    arguments = sorted(given, key=lambda n: (n.lineno, n.col_offset))
    for before, keyword in itertools.pairwise(arguments):
        if getattr(keyword, "arg", None) == "shuffle":
            start, end = site_of(facts.module, before), site_of(facts.module, keyword)
            edit = Edit(start.end_line, start.end_column, end.end_line, end.end_column, "")
            return Fix(Applicability.SAFE, (edit,))
    return None
