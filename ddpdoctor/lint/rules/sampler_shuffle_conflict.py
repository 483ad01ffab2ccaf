"""A sampler and shuffle=True

## What it does
Finds `DataLoader(sampler=..., shuffle=True)` where the sampler is surely not None.

## Why it harms
torch raises ValueError: sampler option is mutually exclusive with shuffle.

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
A sampler that is None in some runs, or `shuffle=(sampler is None)`, is not reported.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ddpdoctor.lint.facts import spellings
from ddpdoctor.lint.facts.analysis import site_of
from ddpdoctor.lint.facts.events import Call
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.values import is_solid
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity

RULE = LintRule("DD104", "sampler-shuffle-conflict", Severity.ERROR)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders with both."""
    for call in facts.named(spellings.LOADER):
        sampler = call.argument(3, "sampler")
        shuffle = call.argument(2, "shuffle")
        if sampler is None or shuffle is None or not is_solid(sampler):
            continue
        if shuffle.known and shuffle.constant is True:
            message = "DataLoader raises ValueError for a sampler together with shuffle=True: the sampler shuffles"
            yield facts.finding(RULE, call.site, message, fix=_fix(facts, call), context=call.context)


def _fix(facts: ModuleFacts, call: Call) -> Fix | None:
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
