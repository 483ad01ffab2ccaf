"""An iterable data set that splits by worker but not by rank

## What it does
Finds an `IterableDataset` whose `__iter__` splits its data between the workers of a loader (`get_worker_info`) and not
by rank, in a loader for data-parallel training. A rank that only messages and checks mention splits nothing. Functions
that the class is given, or has by default (`nodesplitter=keep_all`), count as its own. And one whose `__iter__` asks
the process group for the rank in workers that are started anew (`multiprocessing_context="spawn"`).

## Why it harms
`get_worker_info` counts the workers of one process. Every rank has a worker 0, and all of them read the same part: the
job reads the whole data once per rank, and gradients average duplicates. A worker that is spawned has no process group:
a helper that asks for the rank only where there is one answers 0 of 1 on every rank, and without it the question fails.
Ask in the constructor, whose object the workers get.

## Example
```python
class Lines(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        yield from itertools.islice(self.lines, info.id, None, info.num_workers)
```

## Use instead
```python
class Lines(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        part = dist.get_rank() * info.num_workers + info.id
        yield from itertools.islice(self.lines, part, None, dist.get_world_size() * info.num_workers)
```

## Fix safety
No automatic fix: the number of batches per rank must be equal as well.

## When it is wrong
When the source is split before it reaches the class, for example by files. The rule is silent if a rank, world size or
shard from elsewhere appears in what the class computes or in arguments that it uses, for streams that are drawn from
generators which the class has not seeded itself, and for frameworks that split. A rank that is asked for in workers is
not reported where they are forked, or have a function of their own that begins them.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from ddpdoctor.lint.facts import asked_in_workers, loaders, worker_splits
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.classes import external_bases, find_method, mro
from ddpdoctor.lint.interpreter.events import EnclosingLoop, Iteration
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Made
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import SHARED_OUT, Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD106",
    "iterable-no-rank-split",
    Severity.WARNING,
    advice="divide the data by rank * num_workers + worker in __iter__",
)

_ASKS = "get_worker_info"
_BASES = ("torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders of such data sets in loops with a DDP backward."""
    if not facts.mentions(_ASKS, *_STARTS):
        return
    for iteration in (*facts.iterations, *_taken_one_by_one(facts)):
        loader = loaders.loader_of(iteration.loop.over)
        over = iteration.loop.over
        if loader is None or over is None or loader.opaque or over.tags & Tag.PREPARED or iteration.context.no_grad:
            continue
        dataset = loader.argument(0, "dataset")
        obj = dataset.object if dataset is not None else None
        if not isinstance(obj, Instance) or not set(_BASES) & external_bases(facts.analysis, obj.info):
            continue
        ops = [op for op in facts.repeated(iteration) if op.op.startswith("backward")]
        method = find_method(facts.analysis, obj.info, "__iter__")
        if dataset is not None and method is not None and ops and not _is_shared_out(facts):
            related = ((loader.site, "the loader"), (ops[0].site, "gradients are averaged over ranks here"))
            yield _by_worker(facts, dataset, (iteration, method), related)
            yield _in_workers(facts, dataset, (iteration, loader), related)


_STARTS = ("multiprocessing_context", "set_start_method")
_Related: TypeAlias = "tuple[tuple[SourceSite, str], ...]"


def _by_worker(
    facts: ModuleFacts, dataset: Value, read: tuple[Iteration, FunctionInfo], related: _Related
) -> Finding | None:
    iteration, method = read
    if not _by_worker_only(facts, dataset, method):
        return None
    message = (
        f"{dataset.object.info.name} splits its data between workers only, so every rank reads all of it: take "
        "rank and world size into account as well"
    )
    here = iteration.loop.site if method.module is not facts.module else None
    return facts.finding(RULE, here or method.node, message, related=related, context=iteration.context)


def _in_workers(facts: ModuleFacts, dataset: Value, read: tuple[Iteration, Made], related: _Related) -> Finding | None:
    iteration, loader = read
    asked = asked_in_workers.ranks(facts, dataset) if asked_in_workers.start_anew(facts, loader) else None
    if asked is None:
        return None
    workers = loader.argument(5, "num_workers")
    condition = "" if workers is not None and workers.known else "where the loader has workers, "
    message = (
        "the rank is asked for in workers that are started anew and have no process group: every rank is 0 of 1 there, "
        "and reads all of the data; ask in the constructor"
    )
    chain = (*iteration.context.chain, iteration.loop.site)
    return facts.finding(RULE, asked, Conditional(condition, message), related=related, chain=chain)


def _taken_one_by_one(facts: ModuleFacts) -> Iterator[Iteration]:
    """Loops that take the next batch of a loader in each turn: `batches = iter(loader)`, `next(batches)`."""
    for call in facts.named("builtins.next"):
        if call.args and call.context.loops:
            loop = call.context.loops[-1]
            taken = EnclosingLoop(loop.node, loop.site, iterated_of(call.args[0])[0], "")
            yield Iteration(taken, call.context, call.index)


def _by_worker_only(facts: ModuleFacts, dataset: Value, method: FunctionInfo) -> bool:
    """Whether it asks for the worker, and nothing that it does with its data can be by rank."""
    obj: Instance = dataset.object
    stream = worker_splits.Stream(facts.analysis, dataset, obj)
    words = _words_of(facts, obj, method).union(*(_identifiers(one.node) for one in stream.called.values()))
    if _ASKS not in words:
        return False
    if _given_ranks(obj, stream):
        return False
    if not stream.by_worker_alone:
        return not _silences(words - _KNOWN)
    foreign = stream.foreign - _OF_TEXTS
    foreign |= _of_functions(facts, foreign) - _OF_TEXTS
    return not heuristics.KNOWS_RANKS.found_in_any(foreign) and not stream.draws_unseeded


#: methods of texts and paths
_OF_TEXTS = frozenset({"split", "rsplit", "partition", "rpartition", "splitlines", "splitext"})
#: words of every such class
_KNOWN = frozenset({"get_worker_info", "worker_info", "num_workers", "IterableDataset", "__iter__", "start", "islice"})


def _is_shared_out(facts: ModuleFacts) -> bool:
    """Whether the program gives each rank a part of a stream before it goes into a data set."""
    return any("split_dataset_by_node" in module.words for module in facts.modules)


def _silences(words: set[str]) -> bool:
    return heuristics.KNOWS_RANKS.found_in_any(words) or heuristics.DRAWS_STREAM.found_in_any(words)


def _given_ranks(obj: Instance, stream: worker_splits.Stream) -> bool:
    """Its constructor is given a rank, a world size, or something that already depends on them, and uses it."""
    keywords = [(name, value) for name, value in obj.keywords if not stream.ignores_named(name)]
    given: list[Value] = [value for place, value in enumerate(obj.args) if not stream.ignores(place)]
    given += [value for _, value in keywords]
    # what a function does that the class calls is among its words
    followed = list(stream.called.values())
    names = [n for n, value in keywords if not (isinstance(value.object, Function) and value.object.info in followed)]
    return heuristics.KNOWS_RANKS.found_in_any(names) or any(len(v.atoms) > 1 or v.tags & SHARED_OUT for v in given)


def _words_of(facts: ModuleFacts, obj: Instance, method: FunctionInfo) -> set[str]:
    """Names in the class, its bases in the project, and the functions of its files that it calls."""
    words: set[str] = set()
    for info in mro(facts.analysis, obj.info):
        words |= _identifiers(info.node)
    called = [f for f in method.module.functions if f.name in words]
    return words | {w for f in called for w in _identifiers(f.node)}


def _of_functions(facts: ModuleFacts, words: set[str]) -> set[str]:
    """Names in the functions of the project that are called so, in whatever file."""
    modules = facts.modules
    called = [f for module in modules for f in module.functions if f.name in words and f.owner is None]
    return {w for f in called for w in _identifiers(f.node)}


def _identifiers(node: ast.AST) -> set[str]:
    words: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            words.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            words.add(inner.attr)
        elif isinstance(inner, ast.arg):
            words.add(inner.arg)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isupper():
            words.add(inner.value)
    return words
