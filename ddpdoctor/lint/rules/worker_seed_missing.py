"""The state of numpy's generator is the same in every worker

## What it does
For torch before 1.9: finds a `DataLoader` with worker processes and without `worker_init_fn` over a data set whose
`__getitem__` draws from numpy's global generator.

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
Newer versions of torch seed numpy in each worker, and nothing is reported for them; ranks with equal seeds are DD131.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, randomness
from ddpdoctor.lint.knowledge.randomness import Generator, Use
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.modules import ClassInfo
from ddpdoctor.program.nodes import walk

RULE = LintRule(
    "DD134",
    "worker-seed-missing",
    Severity.HINT,
    words=frozenset({"num_workers"}),
    advice="pass a worker_init_fn that seeds numpy, or use torch 1.9 or later",
)

#: from here on each worker seeds numpy by itself
_SEEDED = (1, 9)
#: draws from its own generator, or seeds by hand
_OWN = randomness.last_names(Use.MAKES, Use.SEEDS, Use.RESTORES, of=Generator.NUMPY) | {"get_worker_info"}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders with workers over data sets that draw from numpy."""
    if facts.torch_version >= _SEEDED:
        return
    for call in facts.named(aliases.LOADER):
        made = loaders.loader_of(call.result)
        if made is None or made.opaque or call.keyword("worker_init_fn") is not None or not _has_workers(call):
            continue
        data = _class_of(made.argument(0, "dataset"))
        drawn = _draw(facts, data) if data is not None else ""
        if drawn and data is not None:
            message = f"{data.name}.__getitem__ calls {drawn}, with the same state in every worker: seed each worker"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _has_workers(call: CallEvent) -> bool:
    given = call.argument(5, "num_workers")
    return given is not None and given.known and isinstance(given.constant, int) and given.constant > 0


def _class_of(value: Value | None) -> ClassInfo | None:
    """The class of a data set, also inside `Subset` and the like."""
    obj = value.object if value is not None else None
    if isinstance(obj, Made) and obj.args and obj.path.endswith((".Subset", ".ConcatDataset")):
        return _class_of(obj.args[0])
    return obj.info if isinstance(obj, Instance) else None


def _draw(facts: ModuleFacts, data: ClassInfo) -> str:
    """The numpy function with which the data set draws; "" if it draws nothing or seeds its generator."""
    getter = find_method(facts.analysis, data, "__getitem__")
    if getter is None or any(isinstance(n, ast.Attribute) and n.attr in _OWN for n in walk(data.node)):
        return ""
    for node in walk(getter.node):
        func = node.func if isinstance(node, ast.Call) else None
        inner = func.value if isinstance(func, ast.Attribute) else None
        if isinstance(func, ast.Attribute) and isinstance(inner, ast.Attribute) and inner.attr == "random":
            root = inner.value.id if isinstance(inner.value, ast.Name) else ""
            if getter.module.imports.get(root) == "numpy":
                return f"{root}.random.{func.attr}"
    return ""
