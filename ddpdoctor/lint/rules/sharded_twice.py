"""A rank's share of the data is divided over the ranks again

## What it does
Finds data of which each rank holds only its own share (`rows[rank::world_size]`, `dataset.shard(world_size, rank)`,
`split_dataset_by_node`, a data set or sampler of the project that takes such a share) and that is given to what divides
it over all ranks once more: a `DistributedSampler`, `accelerator.prepare`, Fabric's `setup_dataloaders`, the Trainers
of transformers and of Lightning, `deepspeed.initialize`. Also a loader with a `DistributedSampler` that Accelerate
prepares: it gives each process every n-th batch of any loader; and a sampler that divides, which a Trainer of the
project gives to that of transformers (`_get_train_sampler`): since 4.31 this has Accelerate prepare its loaders.

## Why it harms
Of a share of an n-th each rank trains on an n-th: of eight times the data that an epoch should have, seven parts are
used by no rank, and often always the same. Nothing fails: epochs are short, and the model has seen little.

## Example
```python
mine = rows[rank::world_size]
sampler = DistributedSampler(mine)
loader = DataLoader(mine, batch_size=32, sampler=sampler)
```

## Use instead
```python
sampler = DistributedSampler(rows)
loader = DataLoader(rows, batch_size=32, sampler=sampler)
```
or keep the share and leave the sampler out: `DataLoader(mine, batch_size=32, shuffle=True)`.

## Fix safety
No automatic fix.

## When it is wrong
When the share is that of a node, or of a group of ranks, and the second division is within it, and nothing in the code
says so. With transformers before 4.31 a Trainer's sampler had to divide: one of a method that may be that old is a
hint. A sampler that is told other numbers than those of the whole job is not reported, nor what Fabric and Lightning
leave as it is: iterable data sets, and loaders with a `DistributedSampler`.

## References
https://huggingface.co/docs/accelerate/concept_guides/internal_mechanism
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import held_shares, loaders, prepared_orders, seeds
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.knowledge import aliases, frameworks
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values import loader_join
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Items, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.sites import SourceSite, site_of

RULE = LintRule(
    "DD153",
    "sharded-twice",
    Severity.WARNING,
    advice="give all of the data to what divides it, or have nothing divide the share",
)


class _Division(NamedTuple):
    """What divides a loader, or a data set, over the ranks: in which call, and who it is."""

    call: CallEvent
    given: Value
    by: str
    #: leaves iterable data sets and DistributedSamplers as they are
    leaves: bool = False


class _Divider(NamedTuple):
    """What divides a share once more, and what has to hold for it to do so, as the beginning of a message."""

    name: str
    condition: str = ""


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Shares that are given to samplers of all ranks, and to what divides loaders."""
    for call in facts.named(aliases.SAMPLER):
        yield _of_sampler(facts, call)
    told: set[SourceSite] = set()
    for division in _divisions(facts):
        place = _share(facts, division)
        if place is not None and division.call.site not in told:
            told.add(division.call.site)
            yield _finding(facts, division.call, _Divider(division.by), place)
    yield from _of_own_trainers(facts)


def _of_own_trainers(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Samplers that give each rank its share, and that a Trainer of the project gives to its base, which has Accelerate
    divide the loader. Before 4.31 it did not, and a method of that time is a hint."""
    told: set[SourceSite] = set()
    for call in facts.methods("train"):
        own = call.receiver
        if own is None or not isinstance(own.object, Instance) or not _takes_loaders(facts, own.object):
            continue
        for name in frameworks.GIVING_SAMPLERS:
            method = find_method(facts.analysis, own.object.info, name)
            samplers = _returned(facts, own, method) if method is not None else ()
            share = next((share for one in samplers if (share := held_shares.of_sampler(facts, one)) is not None), None)
            if method is not None and share is not None and share not in told:
                told.add(share)
                by = _Divider("the Trainer", "" if _is_new(method) else "with transformers 4.31 or newer, ")
                yield _finding(facts, call, by, share)


def _is_new(method: FunctionInfo) -> bool:
    """Whether a method that gives a sampler was written for a Trainer that hands its loaders to Accelerate: it takes a
    data set, or its file knows the Trainer's accelerator."""
    given = method.node.args
    return len(method.parameters) > 1 or given.vararg is not None or "accelerator" in method.module.words


def _returned(facts: ModuleFacts, owner: Value, method: FunctionInfo) -> tuple[Value, ...]:
    """What a method of an object of the project may return, each by itself: its base's sampler, or its own."""
    analysis = facts.analysis
    with analysis.quietly():
        site = site_of(method.module, method.node)
        outcome = analysis.call(Function(method, owner), (), (), Frame(method.module, calls=("",)), site)
    return outcome.each if outcome is not None else ()


def _of_sampler(facts: ModuleFacts, call: CallEvent) -> Finding | None:
    made, data = call.result.object, call.argument(0, "dataset")
    if not isinstance(made, Made) or not held_shares.is_over_all(made):
        return None
    share = held_shares.of(facts, data) or held_shares.of_sampler(facts, data)
    return _finding(facts, call, _Divider("DistributedSampler"), share) if share is not None else None


def _finding(facts: ModuleFacts, call: CallEvent, by: _Divider, share: SourceSite) -> Finding | None:
    message = Conditional(
        by.condition,
        f"each rank has only its own share of this data already, and {by.name} divides that over the ranks once more: "
        "of n ranks' data only an n-th is used",
    )
    related = ((share, "the share is taken here"),) if share != call.site else ()
    severity = Severity.HINT if by.condition else None
    return facts.finding(RULE, call.site, message, related=related, severity=severity, context=call.context)


def _divisions(facts: ModuleFacts) -> Iterator[_Division]:
    for call in facts.methods(*prepared_orders.METHODS):
        if prepared_orders.prepares(call) and not _keeps_samplers(call):
            leaves = seeds.kind_of(call) == frameworks.FABRIC
            yield from (_Division(call, value, "Fabric" if leaves else "Accelerate", leaves) for value in call.args)
    for call, trainer in _trainers(facts):
        data = (_keyword(trainer, "train_dataset"), _keyword(trainer, "eval_dataset"))
        yield from (_Division(call, value, "the Trainer") for value in data if value is not None)
    for call in facts.named("deepspeed.initialize"):
        data_set = call.argument(4, "training_data")
        if data_set is not None:
            yield _Division(call, data_set, "DeepSpeed's loader")
    yield from _by_lightning(facts)


def _keyword(made: Made | Instance, name: str) -> Value | None:
    return next((value for key, value in made.keywords if key == name), None)


def _trainers(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Made | Instance]]:
    """Trainers of transformers that make their loaders themselves, and where they are made or told to train."""
    for call in facts.concerning(lambda name: frameworks.kind(name) == frameworks.TRAINER):
        if isinstance(call.result.object, Made):
            yield call, call.result.object
    for call in facts.methods("train"):
        own = call.receiver.object if call.receiver is not None else None
        if isinstance(own, Instance) and _takes_loaders(facts, own):
            yield call, own


def _takes_loaders(facts: ModuleFacts, own: Instance) -> bool:
    """Whether a class of the project is a Trainer of transformers that leaves the loaders to it."""
    analysis = facts.analysis
    of_trainer = frameworks.TRAINER in framework_objects.bases(analysis, own.info)
    return of_trainer and find_method(analysis, own.info, "get_train_dataloader") is None


def _keeps_samplers(call: CallEvent) -> bool:
    """Whether a call, or the options of a Trainer, say that samplers stay as they are, or may."""
    given = [value for name in frameworks.LEAVING_SAMPLERS if (value := call.keyword(name)) is not None]
    return call.opaque or any(value.constant is not True for value in given)


#: methods that give Lightning its loaders
_GIVING = ("train_dataloader", "val_dataloader", "test_dataloader")


def _by_lightning(facts: ModuleFacts) -> Iterator[_Division]:
    """Loaders that a Trainer of Lightning gets, which puts a DistributedSampler into each."""
    for call in facts.methods("fit"):
        trainer = call.receiver.object if call.receiver is not None else None
        if not isinstance(trainer, Made) or frameworks.kind(trainer.path) != frameworks.LIGHTNING or trainer.opaque:
            continue
        kept = any(trainer.keyword(name) is not None for name in frameworks.LEAVING_SAMPLERS)
        if kept or framework_objects.one_process(trainer) or not trainer.site.file:
            continue
        for value in (*call.args, *(v for _, v in call.keywords)):
            for loader in (value, *_given_by(facts, value)):
                yield _Division(call, loader, "Lightning", leaves=True)


def _given_by(facts: ModuleFacts, value: Value) -> Iterator[Value]:
    """The loaders of a module, or of what holds the data for one."""
    obj, analysis = value.object, facts.analysis
    for name in _GIVING if isinstance(obj, Instance) else ():
        method = find_method(analysis, obj.info, name)
        if method is None:
            continue
        with analysis.quietly():
            site = site_of(method.module, method.node)
            outcome = analysis.call(Function(method, value), (), (), Frame(method.module, calls=("",)), site)
        if outcome is not None:
            made = outcome.value.object
            yield from made.items if isinstance(made, Items) else (outcome.value,)


def _share(facts: ModuleFacts, division: _Division) -> SourceSite | None:
    """Where the share is taken that is divided once more."""
    value, leaves = division.given, division.leaves
    loader = loaders.loader_of(value)
    if value.tags & Tag.MAYBE:
        return None
    if loader is None:
        whole = division.by in _OF_DATA and not (leaves and held_shares.is_iterable(facts, value))
        return held_shares.of(facts, value) if whole else None
    sampler, batches = loaders.given_sampler(value), loader.argument(4, "batch_sampler")
    made = loader_join.made_of(sampler)
    divided = made is not None and made.path == aliases.SAMPLER
    if sampler is not None and not (leaves and divided):
        found = held_shares.of_sampler(facts, sampler)
        if found is not None:
            return found
    if batches is not None:
        return None if leaves else held_shares.of_sampler(facts, batches)
    data = loader.argument(0, "dataset")
    return None if leaves and (divided or held_shares.is_iterable(facts, data)) else held_shares.of(facts, data)


#: are given data sets, not loaders
_OF_DATA = ("the Trainer", "DeepSpeed's loader")
