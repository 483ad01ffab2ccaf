"""Data or a sampler in another order on each rank

## What it does
Finds `DistributedSampler(seed=...)` whose seed depends on the rank or the clock, `set_epoch` of something that depends
on the rank, lists that each rank has shuffled for itself before the sampler divides them, or before it takes its share
of them (`rows[rank::world_size]`), samplers of the program's own that take their rank's share of an order which nothing
seeds, or whose order Accelerate or Fabric divides though each process draws its own, data sets and samplers that a
loader calls and that shuffle a list by a generator of the rank before they take the rank's share of it,
`data.shuffle(seed=...)` by a seed of the rank, or `rows.shuffle()` of the package `datasets` before anything is seeded,
where a sampler, Accelerate, Fabric, `shard` or the trainer of transformers then divides the data by index, data sets
whose constructor keeps the samples in an order that each process makes for itself (mixed before anything is seeded, or
that of a set of texts) and that a sampler, Accelerate, Fabric or the trainer of transformers divides by index, and
names that are numbered in the order of a set.

## Why it harms
The sampler relies on every rank shuffling in the same way and then taking its own share. With different orders the
shares overlap: in a test, two ranks together saw 12 of 16 samples. The order of a set of texts is another one in each
process, so that each rank gives another number to the same label.

## Example
```python
DistributedSampler(data, seed=args.seed + rank)
```

## Use instead
```python
DistributedSampler(data, seed=args.seed)
```

## Fix safety
No automatic fix.

## When it is wrong
A list that a data set's constructor shuffles without a seed is a hint where no sample is seen to be taken from it by
index. Where something may have been seeded before, or a setting decides whether the samples are mixed, nothing is said
of a data set that does so in its constructor. Only a seed that provably differs is reported: of a sampler for a part of
the job, as for a member of a population, only one that differs among the ranks that share it. A set of numbers has one
order on all ranks: names that are numbered are a warning, which says so, and none where `PYTHONHASHSEED` is set.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import (
    blocks,
    held_orders,
    launch,
    orders_of_sets,
    prepared_orders,
    random_draws,
    reordered_tables,
    sampler_parts,
    seeds,
    shares_by_rank,
)
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, frameworks, randomness
from ddpdoctor.lint.knowledge.randomness import Use
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, SHARED_OUT, Tag
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import ClassInfo
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite, site_of

RULE = LintRule(
    "DD133",
    "shard-order-not-synced",
    Severity.ERROR,
    advice="seed alike on all ranks, and put what has no order into one",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """What has not the same order on all ranks."""
    yield from _seeds(facts)
    yield from _epochs(facts)
    yield from _shuffled(facts)
    yield from _reordered(facts)
    constructed = list(_constructed(facts))
    yield from constructed
    yield from _held(facts, {finding.line for finding in constructed if finding is not None})
    yield from _numbered(facts)
    sampled = list(_sampled(facts))
    yield from sampled
    if not sampled:
        yield from _streamed(facts)
    yield from _prepared(facts)


def _prepared(facts: ModuleFacts) -> Iterator[Finding | None]:
    """A sampler of the program's own that draws another order in each process, of which a framework leaves each process
    its share by position."""
    for one in prepared_orders.found(facts):
        why = ""
        if one.seeded is not None:
            why = "the generator was seeded with the rank" if seeds.differs_by_rank(one.seeded) else ""
        elif one.loader.context.from_script and not seeds.mentioned(facts):
            why = "nothing is seeded"
        if why:
            message = (
                f"{why}: {one.sampler.name} draws another order in each process, of which prepare() leaves each its "
                "share by position, so the shares overlap and samples are lost"
            )
            seeded = ((one.seeded.site, "seeded here"),) if one.seeded is not None else ()
            related = ((one.draw.site, "the order is drawn here"), (one.prepared.site, "divided here"), *seeded)
            yield facts.finding(
                *(RULE, one.loader.site, message), related=related, context=one.loader.context,
                severity=Severity.WARNING,
            )  # fmt: skip


def _sampled(facts: ModuleFacts) -> Iterator[Finding | None]:
    """A sampler of the program's own that takes its rank's share of an order, which nothing seeds."""
    for loader in facts.named(aliases.LOADER):
        given = loader.argument(3, "sampler") or loader.argument(4, "batch_sampler")
        if given is None or not isinstance(given.object, Instance) or not seeds.never(facts, loader):
            continue
        info = given.object.info
        draw = random_draws.order_of(facts.analysis, info) if _knows_its_rank(info) else None
        if draw is not None:
            message = (
                f"nothing is seeded: {info.name} draws another order on each rank and takes a share of it, so the "
                "shares overlap and samples are lost"
            )
            related = ((draw.site, "the order is drawn here"),)
            yield facts.finding(
                *(RULE, loader.site, message), related=related, context=loader.context, severity=Severity.WARNING
            )


def _knows_its_rank(info: ClassInfo) -> bool:
    """Whether an object of the class keeps its rank."""
    return any(isinstance(n, ast.Attribute) and n.attr in _RANKS for n in walk(info.node))


#: as samplers call the rank whose share they give
_RANKS = frozenset({"rank", "_rank", "local_rank", "global_rank"})


def _epochs(facts: ModuleFacts) -> Iterator[Finding | None]:
    for call in facts.methods("set_epoch"):
        epoch, made = call.argument(0, "epoch"), call.receiver.object if call.receiver is not None else None
        if epoch is None or not isinstance(made, Made) or made.path != aliases.SAMPLER:
            continue
        shuffle = made.argument(3, "shuffle")
        if shuffle is not None and shuffle.constant is False:
            continue  # the number is for the shuffle alone
        by_rank = len(epoch.atoms) > 1 or (epoch.tags & ANY_RANK and not epoch.tags & Tag.IN_GROUP)
        if by_rank and sampler_parts.differ(made, None, epoch, ""):
            message = "the ranks shuffle by different numbers, so their shares overlap and samples are lost"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _shuffled(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`random.shuffle(files)` by a generator of the rank, and then a sampler over what was made of the files, or the
    rank's share of them."""
    samplers = facts.named(aliases.SAMPLER)
    for call, own in _each_for_itself(facts):
        ordered = call.args[0] if call.path in _IN_PLACE else call.result
        sampled = (s.site for s in samplers if s.index > call.index and _is_made_of(s, ordered))
        divided = next(sampled, None) or _share_of(facts, call)
        if divided is not None:
            why = "the generator was seeded with the rank" if own else "nothing is seeded"
            message = f"{why}: the ranks shuffle differently, so their shares overlap and samples are lost"
            related = ((divided, "divided between the ranks here"),)
            severity = None if own else Severity.WARNING
            yield facts.finding(*(RULE, call.site, message), related=related, context=call.context, severity=severity)


#: functions that shuffle what they are given
_IN_PLACE = randomness.paths(Use.SHUFFLES)


def _each_for_itself(facts: ModuleFacts) -> Iterator[tuple[CallEvent, bool]]:
    """Each shuffle that every rank makes in its own way, and whether its generator is seeded with the rank."""
    for path in randomness.paths(Use.SHUFFLES, Use.ORDERS):
        seeders = randomness.paths(Use.SEEDS, of=randomness.FUNCTIONS[path].generators[0])
        for call in facts.named(path):
            before = [c for c in facts.named(*seeders) if c.index < call.index]
            last = max(before, key=lambda c: c.index) if before else None
            own = last is not None and bool(last.args) and seeds.differs_by_rank(last)
            if not call.args or call.keyword(randomness.FUNCTIONS[path].own or "generator") is not None:
                continue
            if not call.context.some_ranks_only and (own or seeds.never(facts, call)):
                yield call, own


def _share_of(facts: ModuleFacts, call: CallEvent) -> SourceSite | None:
    """Where the function that shuffles a list takes the rank's share of it: `rows[rank::world]`."""
    module = blocks.module_of(facts, call.site)
    if module is None:
        return None
    scope = innermost_function(module.tree, call.site.line) or module.tree
    name = shares_by_rank.name_of_order(scope, call.node)
    share = shares_by_rank.taken(scope, name, call.site.line)
    return site_of(module, share) if share is not None else None


def _streamed(facts: ModuleFacts) -> Iterator[Finding | None]:
    """A data set or sampler whose methods, which a loader calls, shuffle a list and take the rank's share of it."""
    for loader in facts.named(aliases.LOADER):
        given = (loader.argument(at, name) for at, name in ((0, "dataset"), (3, "sampler"), (4, "batch_sampler")))
        for info in [v.object.info for v in given if v is not None and isinstance(v.object, Instance)]:
            draw = random_draws.order_of(facts.analysis, info)
            divided = _divided_there(facts, draw.site) if draw is not None else None
            why = _parted(facts, loader, draw.path) if draw is not None and divided is not None else ""
            if draw is None or divided is None or not why:
                continue
            message = (
                f"{why}: {info.name} shuffles in another way on each rank, and then takes the rank's share: the shares "
                "overlap and samples are lost"
            )
            related = ((draw.site, "shuffled here"), (divided, "the share is taken here"))
            yield facts.finding(
                *(RULE, loader.site, message), related=related, context=loader.context, severity=Severity.WARNING
            )


def _divided_there(facts: ModuleFacts, drawn: SourceSite) -> SourceSite | None:
    """Where the function in which an order is drawn takes the rank's share of what is in that order."""
    module = blocks.module_of(facts, drawn)
    scope = innermost_function(module.tree, drawn.line) if module is not None else None
    if module is None or scope is None:
        return None
    calls = (n for n in walk(scope) if isinstance(n, ast.Call) and site_of(module, n) == drawn)
    names = (shares_by_rank.name_of_order(scope, call) for call in calls)
    shares = (shares_by_rank.taken(scope, name, drawn.line) for name in names)
    return next((site_of(module, share) for share in shares if share is not None), None)


def _parted(facts: ModuleFacts, loader: CallEvent, path: str) -> str:
    """Why each rank draws another order by this function, "" if nothing shows that."""
    seeders = randomness.paths(Use.SEEDS, of=randomness.FUNCTIONS[path].generators[0])
    last = max((c for c in facts.named(*seeders) if c.index < loader.index), key=lambda c: c.index, default=None)
    if last is not None:
        return "the generator was seeded with the rank" if last.args and seeds.differs_by_rank(last) else ""
    return "nothing is seeded" if seeds.never(facts, loader) else ""


def _constructed(facts: ModuleFacts) -> Iterator[Finding | None]:
    """A data set whose constructor shuffles what it holds, in each process, where nothing is seeded: a sampler divides
    it by index, which Lightning gives to the loaders of the ranks that it starts the script for."""
    for info, divided, told in _divided_sets(facts):
        shuffles = [
            call for call in facts.named(*randomness.paths(Use.SHUFFLES))
            if call.context.function is not None and call.context.function.owner is info
            and f"{info.name}.__init__" in call.context.calls and _own_attribute(call)
        ]  # fmt: skip
        indexed = held_orders.taken_by_index(info)
        first = next((call for call in shuffles if _own_attribute(call) in indexed), next(iter(shuffles), None))
        if first is not None:
            message = (
                "nothing is seeded: each rank shuffles in its own way what the sampler of its loader divides by index, "
                "so the shares overlap and samples are lost"
            )
            severity = Severity.WARNING if _own_attribute(first) in indexed else Severity.HINT
            related = ((divided, told),)
            yield facts.finding(RULE, first.site, message, related=related, context=first.context, severity=severity)


def _held(facts: ModuleFacts, told: set[int]) -> Iterator[Finding | None]:
    """A data set whose constructor keeps its samples in an order that each process makes for itself: before anything is
    seeded, or that of a set of texts."""
    for one in held_orders.found(facts):
        if facts.place(one.call).line in told:
            continue
        whose = "the order of a set of texts is another one in each process" if one.of_set else _NOT_YET
        message = (
            f"{whose}: {one.info.name} keeps its samples in it, which are divided by index, so the shares of the ranks "
            "overlap and samples are lost"
        )
        open_ = Unconfirmed(one.call.site, RelatedRole.UNSTARTED) if one.of_set else None
        yield facts.finding(
            *(RULE, one.call.site, message), related=((one.division.site, one.division.said),), unconfirmed=open_,
            severity=Severity.WARNING, context=one.call.context,
        )  # fmt: skip


_NOT_YET = "nothing is seeded yet, so each process draws an order of its own here"


def _divided_sets(facts: ModuleFacts) -> Iterator[tuple[ClassInfo, SourceSite, str]]:
    """Classes of data sets that are divided by index in a program of several ranks which seeds nothing; and by what."""
    trainer = next((call for call in facts.named(frameworks.LIGHTNING) if _starts_script(call)), None)
    if trainer is not None and not seeds.mentioned(facts):
        for info in _data_sets(facts, aliases.LOADER):
            yield info, trainer.site, "the script runs on each rank"
    for sampler in facts.named(aliases.SAMPLER):
        data = sampler.argument(0, "dataset")
        if data is not None and isinstance(data.object, Instance) and seeds.never(facts, sampler):
            yield data.object.info, sampler.site, "divided between the ranks here"


def _data_sets(facts: ModuleFacts, path: str) -> list[ClassInfo]:
    given = (call.argument(0, "dataset") for call in facts.named(path))
    return [v.object.info for v in given if v is not None and isinstance(v.object, Instance)]


def _starts_script(trainer: CallEvent) -> bool:
    """Whether the trainer starts the script once for each rank, and gives loaders their samplers."""
    strategy = trainer.keyword("strategy")
    said = strategy.constant if strategy is not None and strategy.known else None
    own = [trainer.keyword(name) for name in ("use_distributed_sampler", "replace_sampler_ddp")]
    return (
        isinstance(said, str)
        and said.startswith(("ddp", "fsdp", "deepspeed"))
        and not any(word in said for word in ("spawn", "fork", "notebook"))
        and all(given is None or given.constant is True for given in own)
    )


def _own_attribute(call: CallEvent) -> str:
    """The attribute of the object that is shuffled in place: `random.shuffle(self.names)`; "" if it is none."""
    given = call.node.args[0] if call.node.args else None
    return given.attr if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name) else ""


def _reordered(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`data.shuffle(seed=seed + rank)`, or `rows.shuffle()` of a table before anything is seeded, and then something
    divides by index what was made of the data."""
    for call in facts.methods("shuffle"):
        why = reordered_tables.each_by_itself(facts, call)
        data = call.receiver
        # each rank shuffles its own share
        if not why or data is None or data.tags & (SHARED_OUT | ANY_RANK) or len(data.atoms) > 1:
            continue
        divided = None if call.context.some_ranks_only else reordered_tables.divided(facts, call)
        if divided is not None:
            message = (
                f"{why}: each rank has another order, so the shares that are taken by index overlap and samples are "
                "lost"
            )
            related = ((divided.site, "divided between the ranks here"),)
            yield facts.finding(
                *(RULE, call.site, message), related=related, context=call.context, severity=Severity.WARNING
            )


def _is_made_of(sampler: CallEvent, shuffled: Value) -> bool:
    data = sampler.argument(0, "dataset")
    return data is not None and _holds(data, shuffled, _DEEPEST)


#: data sets in data sets that are looked into
_DEEPEST = 4


def _holds(value: Value, part: Value, depth: int) -> bool:
    """Whether it is the part, or was given it."""
    if value.atoms == part.atoms and not value.known:
        return True
    obj = value.object
    given = (*obj.args, *(v for _, v in obj.keywords)) if isinstance(obj, (Instance, Made)) and depth else ()
    return any(_holds(one, part, depth - 1) for one in given)


def _numbered(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`{name: number for number, name in enumerate(set(names))}`"""
    found = list(orders_of_sets.numbered(facts)) if facts.mentions("enumerate", "zip", "len") else []
    if not found or not launch.trains_on_several(facts):
        return
    message = Conditional(
        "where these are texts, ",
        "each rank numbers them in another order, since sets of texts are: number `sorted(...)` of them",
    )
    for one in found:
        # a command may give all processes one seed for what is hashed
        open_ = Unconfirmed(one.site, RelatedRole.UNSTARTED)
        yield facts.finding(
            *(RULE, one.site, message), severity=Severity.WARNING, context=one.context, unconfirmed=open_
        )


def _seeds(facts: ModuleFacts) -> Iterator[Finding | None]:
    for call in facts.named(aliases.SAMPLER):
        seed = call.argument(4, "seed")
        # `torch.initial_seed() - rank` takes out a rank that was put in before
        if seed is None or seed.tags & Tag.SEEDED:
            continue
        by_rank = bool(seed.tags & (ANY_RANK | Tag.IN_GROUP)) or len(seed.atoms) > 1
        if by_rank and not sampler_parts.differ(call, call.node, seed, "seed"):
            continue  # that of a part of the job, whose ranks agree on it
        severity = Severity.ERROR
        if seed.tags & ANY_RANK or len(seed.atoms) > 1:
            reason = "depends on the rank"
        elif seed.tags & Tag.IN_GROUP:
            # the elements may be equal
            reason, severity = "is chosen by the rank", Severity.WARNING
        elif seed.tags & MADE_UP or (seed.taint is Taint.RANK_LOCAL and seed.tags & Tag.RANDOM):
            reason = "is different in every process"
        else:
            continue
        message = (
            f"the sampler's seed {reason}: the ranks shuffle differently, so their shares overlap and samples are lost"
        )
        yield facts.finding(RULE, call.site, message, context=call.context, severity=severity)
