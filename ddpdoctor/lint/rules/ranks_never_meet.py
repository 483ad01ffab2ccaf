"""Ranks that never come to one process group

## What it does
Finds ranks that are told different things about where to meet: a port that each of the started processes chooses for
itself, by a free port, a random number, the clock or its rank; the same number for all ranks; a number of ranks that is
not the number of processes; a store that every rank wants to serve; and processes of which one is waited for before the
next is started.

## Why it hangs
`init_process_group` waits until all ranks have come to the store at the address that they were given. Who is given
another port waits alone, and nobody comes in the place of a rank that was named twice, or that nobody has started.

## Example
```python
def train(rank, world_size):
    os.environ["MASTER_PORT"] = str(find_free_port())
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


mp.spawn(train, args=(world_size,), nprocs=world_size)
```

## Use instead
```python
def train(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


os.environ["MASTER_PORT"] = str(find_free_port())
mp.spawn(train, args=(world_size,), nprocs=world_size)
```

## Fix safety
No automatic fix.

## When it is wrong
Where what differs is replaced before the group is made. Only code is reported that the program itself runs in the
processes that it starts; what the parent chooses before it starts them is the same for all, and is not reported, also
inside an object that it hands to them. A clock is a warning: the processes may read it in the same second; so is a
default of a data class's field that a setting may replace.

## References
https://docs.pytorch.org/docs/stable/distributed.html#initialization
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Context
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import MADE_UP, Tag
from ddpdoctor.lint.values.values import EVERY_RANK, RANK_NUMBERS, Symbol, Taint, Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD140",
    "ranks-never-meet",
    Severity.ERROR,
    ("DD262", "DD261"),
    advice="choose the address and the port in the parent, and give each process its own rank",
)

_STORE = "torch.distributed.TCPStore"
_WHERE = frozenset({"MASTER_PORT", "MASTER_ADDR"})
_UNLESS_GIVEN = "unless it is given when the program is started, "
_ONCE = ": choose it once, in the parent"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """What the processes that a program starts are told about their meeting."""
    spawns = (*facts.named(*frameworks.SPAWNING), *facts.named(*frameworks.PROCESSES))
    if spawns:
        yield from _addresses(facts, {spawn.site for spawn in spawns})
        yield from _numbers(facts, spawns)
        yield from _joined(facts)


def _addresses(facts: ModuleFacts, started: set[SourceSite]) -> Iterator[Finding | None]:
    for setting in facts.analysis.settings:
        if setting.name in _WHERE and _in_ranks(setting.context, started):
            yield from _differing(facts, setting.value, setting.site, setting.context)
    for call in facts.named(devices.GROUP):
        method = call.argument(1, "init_method")
        if method is not None and _in_ranks(call.context, started):
            yield from _differing(facts, method, call.site, call.context)
    for call in facts.named(_STORE):
        serves = call.argument(3, "is_master")
        if serves is not None and serves.constant is True and _in_ranks(call.context, started):
            message = "every rank wants to serve this store, and only one of them can have the port: let rank 0 serve"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _in_ranks(context: Context, started: set[SourceSite]) -> bool:
    """Whether all processes that were started come there, under no condition that is not decided."""
    sure = not any(isinstance(atom, Symbol) for guard in context.guards for atom in guard.truth)
    return sure and context.mask == EVERY_RANK and not started.isdisjoint(context.chain)


def _differing(facts: ModuleFacts, value: Value, site: SourceSite, context: Context) -> Iterator[Finding | None]:
    """An address that each rank makes for itself."""
    drawn = value.taint is Taint.RANK_LOCAL and not value.tags & Tag.TIME
    if len(value.atoms) == 1 and value.tags & Tag.MAYBE and value.tags & (MADE_UP | Tag.RANDOM):
        left = Conditional(_UNLESS_GIVEN, "each rank makes up another address here, and waits there alone" + _ONCE)
        yield facts.finding(RULE, site, left, context=context, severity=Severity.WARNING)
    elif len(value.atoms) > 1 or value.tags & Tag.UNIQUE or drawn:
        message = "each rank gives another address here, and waits there alone" + _ONCE
        yield facts.finding(RULE, site, message, context=context)
    elif value.tags & MADE_UP:
        unequal = Conditional(
            "where the ranks do not read the clock at the same time, ",
            "they wait for each other at different addresses" + _ONCE,
        )
        yield facts.finding(RULE, site, unequal, context=context, severity=Severity.WARNING)


def _numbers(facts: ModuleFacts, spawns: Sequence[CallEvent]) -> Iterator[Finding | None]:
    """Ranks and sizes that do not belong together."""
    started = {spawn.site for spawn in spawns}
    for call in facts.named(devices.GROUP):
        rank, size = call.argument(4, "rank"), call.argument(3, "world_size")
        # a function that starts processes may be called several times, with other numbers: what the processes do is
        # recorded before the call that starts them
        behind = (s for s in spawns if s.site in call.context.chain and s.index > call.index)
        spawn = min(behind, key=lambda s: s.index, default=None)
        if spawn is None or rank is None or size is None or not _in_ranks(call.context, started):
            continue
        # a process that is started alone may be the one to have this number
        each = spawn.path in frameworks.SPAWNING or spawn.context.loops
        if each and type(rank.constant) is int and rank.constant >= 0 and size.constant != 1:
            message = f"every process says that it is rank {rank.constant}: the others never come"
            yield facts.finding(RULE, call.site, message, related=((spawn.site, "started here"),), context=call.context)
            continue
        processes = spawn.argument(2, "nprocs") if spawn.path in frameworks.SPAWNING else None
        given, wanted = processes.constant if processes is not None else None, size.constant
        of_all = rank.tags & Tag.SPAWNED and rank.atoms == RANK_NUMBERS.atoms
        if of_all and not size.tags & Tag.WORLD and type(given) is int and type(wanted) is int and given != wanted:
            message = f"{given} processes are started, and the group waits for {wanted} ranks"
            yield facts.finding(RULE, call.site, message, related=((spawn.site, "started here"),), context=call.context)


def _joined(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`for rank in ...: process.start(); process.join()`, of processes that make a group."""
    groups = facts.named(devices.GROUP)
    for start in facts.methods("start"):
        made = _process(start)
        loop = start.context.loops[-1] if start.context.loops else None
        if made is None or loop is None or not _is_inside(made, loop.node):
            continue
        waits = [
            join for join in facts.methods("join")
            if _process(join) == made and join.index > start.index and join.context.loops[-1:] == (loop,)
            and not join.args and not join.keywords
        ]  # fmt: skip
        makes = any(made.site in group.context.chain for group in groups)
        if waits and makes:
            message = "each process is waited for before the next one is started, and waits for that one itself"
            yield facts.finding(
                *(RULE, waits[0].site, message), related=((start.site, "started here"),), context=waits[0].context
            )


def _process(call: CallEvent) -> Made | None:
    made = call.receiver.object if call.receiver is not None else None
    return made if isinstance(made, Made) and made.path in frameworks.PROCESSES else None


def _is_inside(made: Made, loop: ast.AST) -> bool:
    return made.node is not None and any(node is made.node for node in walk(loop))
