"""The local rank passed where the global rank is expected

## What it does
Finds `init_process_group(rank=LOCAL_RANK)`, and data that are divided by the local rank but by the number of all ranks:
`DistributedSampler(rank=LOCAL_RANK)`, `split_dataset_by_node`, `data.shard(num_shards, index)`, and any function that
is given a `global_rank=LOCAL_RANK` together with the number of all ranks. Both are hints where
the file is not told of nodes (`--nnodes`, `node_rank`, Slurm's variables); for data a script or text of the repository
that starts the program on several nodes counts as well. Both are hints where the local rank is an option alone: who
starts the program by hand may mean the global rank by it.

## Why it hangs
Each node counts its local ranks from 0. On the second node, processes announce ranks that are already taken: the
rendezvous waits for ranks that never arrive, or ends with an error. A sampler gives both nodes the same part of the
data.

## Example
```python
dist.init_process_group("nccl", rank=int(os.environ["LOCAL_RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
```

## Use instead
```python
dist.init_process_group("nccl")
```

## Fix safety
No automatic fix.

## When it is wrong
A job that never uses more than one node works, because both ranks are equal there. Not reported are: a rendezvous at
localhost, a world size for a sampler that equals the number of devices of one node, ranks passed by `mp.spawn`, and
programs that refuse to run on more than one node (`assert world_size == torch.cuda.device_count()`).

## References
https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import devices, launch, paths
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import LOCAL_RANK_NUMBERS, Value
from ddpdoctor.model.finding import Finding, RelatedRole, Severity

RULE = LintRule(
    "DD144", "local-rank-as-global-rank", Severity.ERROR, ("DD261", "DD262"), advice="leave rank out, or pass RANK"
)

#: what divides data among ranks: where it is told the number of parts, and which part is this rank's
_DIVIDES = {
    aliases.SAMPLER: ((1, "num_replicas"), (2, "rank")),
    "datasets.distributed.split_dataset_by_node": ((2, "world_size"), (1, "rank")),
    ".shard": ((0, "num_shards"), (1, "index")),
}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Ranks of a group or of a part of the data that are the launcher's LOCAL_RANK."""
    groups = [call for call in facts.named(devices.GROUP) if _local(call.argument(4, "rank"))]
    dividing = list(_dividing(facts))
    if not groups and not dividing:
        return
    # an option of that name may be given by hand, and then it is what its giver means
    told = any(row.found_in_any(facts.texts) for row in (heuristics.READS_LOCAL_RANK, heuristics.NAMES_LAUNCHER))
    for call in groups:
        if not _on_one_node(facts, call):
            message = "LOCAL_RANK starts at 0 on every node, so a second node repeats this rank: pass the global rank"
            several = launch.told_of_nodes(facts)
            condition = "" if several else _ON_NODES
            severity = Severity.ERROR if several and told else Severity.HINT
            yield facts.finding(
                RULE, call.site, _if_passed(condition, message, told), severity=severity, context=call.context
            )
    for call in dividing:
        if not _on_one_node(facts, call):
            message = "LOCAL_RANK starts at 0 on every node, so all nodes get the same data: pass the global rank"
            several = launch.told_of_nodes(facts)
            yield facts.finding(
                RULE,
                call.site,
                _if_passed("" if several else _ON_NODES, message, told),
                severity=Severity.WARNING if told and several else Severity.HINT,
                context=call.context,
                unconfirmed=Unconfirmed(call.site, RelatedRole.UNCONFIRMED) if told and not several else None,
            )


def _dividing(facts: ModuleFacts) -> Iterator[CallEvent]:
    """What divides data by the local rank but by the number of all ranks; also a function that is not in the table, if
    it says by the names of its parameters that it takes the global rank."""
    for call in facts.named(*_DIVIDES):
        parts, part = _DIVIDES[call.path or f".{call.method}"]
        if _whole(call, *parts) and _local(call.argument(*part)):
            yield call
    for call in facts.concerning(lambda name: name not in _DIVIDES and name != devices.GROUP):
        given = call.keyword("global_rank") if call.keywords else None
        if given is not None and _local(given) and any(_whole(call, _NOWHERE, name) for name, _ in call.keywords):
            yield call


#: the position of an argument that is given by its name alone
_NOWHERE = 1 << 10


def _whole(call: CallEvent, position: int, name: str) -> bool:
    """Whether the number of parts is that of all ranks, and not that of one machine's."""
    value, node = call.argument(position, name), devices.written(call, position, name)
    of_node = node is not None and heuristics.NODE_SIZE.found_in(paths.spelled_out(call, node).lower())
    return value is not None and bool(value.tags & Tag.WORLD) and not of_node


_ON_NODES = "if this is ever started on two nodes, "


def _if_passed(condition: str, message: str, told: bool) -> Conditional:
    return Conditional(f"{condition}{'' if told else 'if a launcher passes it, '}", message)


def _local(value: Value | None) -> bool:
    """Exactly the launcher's local rank, and nothing that could also be the global one."""
    if value is None or value.atoms != LOCAL_RANK_NUMBERS.atoms:
        return False
    return value.tags & (ANY_RANK | Tag.SPAWNED | Tag.MAYBE) == Tag.LOCAL_RANK


def _on_one_node(facts: ModuleFacts, call: CallEvent) -> bool:
    """The address, or a condition around the call, shows that there is only one node."""
    if call.path == devices.GROUP:
        texts = devices.texts_of(call, 1, "init_method")
        if heuristics.LOCAL_ADDRESS.found_in_any(texts):
            return True
    if heuristics.ASKS_FOR_NODES.found_in_any(guard.text for guard in call.context.guards):
        return True
    # a helper reports it in its own file
    sources = {facts.module.text, call.context.module.text}
    if any(
        f"{quote}{word}{quote}" in text
        for text in sources
        for word in heuristics.LOCAL_ADDRESS.words
        for quote in "\"'"
    ):
        return True
    return launch.refuses_more(facts)
