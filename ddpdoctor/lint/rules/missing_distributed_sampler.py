"""Every rank trains on all the data

## What it does
Finds data-parallel training from a shuffling `DataLoader` without a sampler: of a model in DDP, with gradients that the
program itself reduces over all ranks (`all_reduce(p.grad)`), or with Accelerate or Fabric, of a loader that nobody has
given to `prepare` or `setup_dataloaders`. A subclass of transformers' `Trainer` that overrides `get_train_dataloader`,
and returns a loader that is neither prepared nor has a sampler for several ranks, is found as well (a hint where
nothing in the repository starts several ranks of it). As a hint, it finds an evaluation that every rank makes of all
the data.

## Why it harms
Each rank iterates over the whole data set: an epoch costs as much as on one GPU, and the gradients average duplicates.
Nothing fails. An evaluation of all the data on every rank gives the right result, and costs as much as on one GPU.

## Example
```python
model = DDP(net)
loader = DataLoader(data, batch_size=64, shuffle=True)
for batch in loader:
    model(batch).sum().backward()
```

## Use instead
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)
```

## Fix safety
No automatic fix.

## When it is wrong
When the data set itself is split by rank in code that lint cannot see. Iterable data sets, loaders passed to a
framework, and data sets that mention the rank are not reported, nor is what the model of each rank has generated in the
same loop that then learns from it, or in a step of such a loop.

## References
https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import averaged_gradients, loaders, loop_purpose, own_loaders, rollouts
from ddpdoctor.lint.facts.module_facts import ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent, Iteration
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD103",
    "missing-distributed-sampler",
    Severity.WARNING,
    advice="pass sampler=DistributedSampler(data) to the loader, and call its set_epoch",
)


_SPLITS = ANY_RANK | Tag.SHARD | Tag.BLOCK | Tag.IN_GROUP


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Shuffling loaders without a sampler whose loop has a DDP backward, if nothing splits by rank."""
    if facts.suggests(heuristics.SPLITS_DATA, heuristics.SPLITS_LOADERS) or _sets_up_unseen(facts):
        return
    yield from _given_to_trainers(facts)
    averaged = averaged_gradients.calls(facts)
    for iteration in facts.iterations:
        over = iteration.loop.over
        loader = loaders.loader_of(over)
        if over is None or loader is None or loader.opaque or over.tags & (Tag.PREPARED | Tag.MAYBE):
            continue
        if not _is_plain(loader) or _split(facts, loader.argument(0, "dataset")):
            continue
        if loop_purpose.computes_only(facts, iteration):
            yield _evaluation(facts, iteration, loader)
            continue
        shuffle = loader.argument(2, "shuffle")
        if iteration.context.no_grad or shuffle is None or shuffle.constant is not True:
            continue
        ops = [op for op in facts.repeated(iteration) if _backward(op) or averaged_gradients.is_averaging(averaged, op)]
        if ops and not rollouts.learns_from(facts, iteration, loader):
            message = f"every rank iterates over all of this data: {_MENDED.get(ops[0].op, _SAMPLER)}"
            related = ((ops[0].site, "gradients are averaged over ranks here"),)
            yield facts.finding(RULE, loader.site, message, related=related, context=iteration.context)


def _sets_up_unseen(facts: ModuleFacts) -> bool:
    """Whether something gives each rank a share of loaders which lint does not see: of what is not known to be Fabric,
    or of loaders in a list."""
    seen = {call.site for call in facts.methods(_SETS_UP) if _of_fabric(call) and not call.opaque}
    modules = facts.modules
    written = (
        site_of(module, node) for module in modules if _SETS_UP in module.words for node in module.of(ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == _SETS_UP
    )  # fmt: skip
    return not seen.issuperset(written)


def _of_fabric(call: CallEvent) -> bool:
    obj = call.receiver.object if call.receiver is not None else None
    return isinstance(obj, Made) and obj.path == frameworks.FABRIC


_SETS_UP = "setup_dataloaders"


def _given_to_trainers(facts: ModuleFacts) -> Iterator[Finding | None]:
    """What overrides the method by which a trainer of transformers gets a loader that is prepared."""
    for loader in own_loaders.undivided(facts):
        if not _split(facts, loader.argument(0, "dataset")):
            open_ = Unconfirmed(loader.site, RelatedRole.UNSTARTED)
            yield facts.finding(RULE, loader.site, _UNPREPARED, unconfirmed=open_)


_UNPREPARED = (
    "every rank trains on all of this data, in the same batches: the trainer takes this loader as it is, so return "
    "self.accelerator.prepare(loader)"
)


def _is_plain(loader: Made) -> bool:
    return loader.argument(3, "sampler") is None and loader.argument(4, "batch_sampler") is None


def _evaluation(facts: ModuleFacts, iteration: Iteration, loader: Made) -> Finding | None:
    """All ranks do what one of them could do, or each a share of."""
    guards = (guard.text for guard in iteration.context.guards)
    alone = iteration.context.some_ranks_only or heuristics.NAMES_RANK.found_in_any(guards)
    if alone or not facts.distributed:
        return None
    message = (
        "every rank evaluates all of this data, and does the same work as the others: give the loader a "
        "DistributedSampler and reduce the result, or leave it to one rank"
    )
    return facts.finding(
        *(RULE, loader.site, message),
        related=((iteration.loop.site, "the evaluation"),),
        context=iteration.context,
        severity=Severity.HINT,
    )


_SAMPLER = "give the loader a DistributedSampler"
#: backward passes of frameworks that split the data of the loaders that they are given
_MENDED = {
    "backward (Accelerate)": "give the loader to accelerator.prepare",
    "backward (Fabric)": "give the loader to fabric.setup_dataloaders",
}


def _backward(op: Op) -> bool:
    return op.op == "backward (DDP)" or op.op in _MENDED


def _split(facts: ModuleFacts, dataset: Value | None, depth: int = 0) -> bool:
    """The data set, or something that it is created from, depends on the rank, or is data of this rank."""
    if dataset is None or dataset.taint is Taint.RANK_LOCAL or len(dataset.atoms) > 1:
        return True
    if loaders.shard_tags(facts, dataset) & _SPLITS:
        return True
    obj = dataset.object
    if isinstance(obj, (Instance, Made)) and depth < 4:
        given = (*obj.args, *(v for _, v in obj.keywords))
        return any(_split(facts, v, depth + 1) for v in given)
    return False
