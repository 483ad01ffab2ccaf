"""An argument of a collective has another meaning than intended

## What it does
Finds `ReduceOp` passed where `reduce` and `gather` expect a rank, a broadcast root that is not a member of the group,
and a root that differs between ranks, such as each rank itself. A constant root in a group that is called after a way
to split the job, such as `data_parallel_group`, is a warning: there are several such groups.

## Why it harms
`dist.reduce(x, dist.ReduceOp.SUM)` raises nothing: the enum is taken as the destination rank. A root outside the group
raises ValueError. Ranks that name different roots wait for one another, or each keeps its own data.

## Example
```python
dist.reduce(x, dist.ReduceOp.SUM)
```

## Use instead
```python
dist.reduce(x, dst=0, op=dist.ReduceOp.SUM)
```

## Fix safety
No automatic fix.

## When it is wrong
The rule does not examine tensors.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import External, GroupOf
from ddpdoctor.lint.values.values import WORLD, Symbol, Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD119",
    "collective-argument-error",
    Severity.ERROR,
    advice="pass the arguments by name, and the same root on all ranks",
)


#: operation -> (position and name of its root, position of its group)
_ROOTED = {
    f"torch.distributed.{op}": where for op, where in (
        ("reduce", (1, "dst", 3)), ("broadcast", (1, "src", 2)), ("gather", (2, "dst", 3)), ("scatter", (2, "src", 3)),
        ("broadcast_object_list", (1, "src", 2)), ("gather_object", (2, "dst", 3)),
        ("scatter_object_list", (2, "src", 3)),
    )
}  # fmt: skip


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Roots that are not ranks, or not ranks of the group."""
    for call in facts.named(*_ROOTED):
        position, name, group_at = _ROOTED[call.path]
        root = call.argument(position, name)
        if root is None:
            continue
        if isinstance(root.object, External) and ".ReduceOp." in root.object.path:
            yield facts.finding(RULE, call.site, f"a ReduceOp is passed as the rank `{name}`: write op=...")
            continue
        group = call.argument(group_at, "group")
        if group is None or (group.known and group.constant is None):
            named = _named(root, call.context.mask)
            if len({said for _, said in named}) > 1 and not call.opaque and not _chosen(facts, call):
                shown = ", ".join(f"rank {rank} passes {said}" for rank, said in named[:2])
                yield facts.finding(RULE, call.site, f"the ranks pass different values for `{name}`: {shown}")
                continue
        members = group.object.members if group is not None and isinstance(group.object, GroupOf) else None
        if members is not None and isinstance(root.constant, int) and root.constant not in members:
            message = f"rank {root.constant} is not a member of this group {list(members)}: torch raises ValueError"
            yield facts.finding(RULE, call.site, message)
        elif members is None and group is not None and isinstance(root.constant, int) and _of_part(call, group_at):
            message = (
                f"where a job has several such groups, rank {root.constant} is in one of them only, and in the others "
                f"torch raises ValueError: give `group_{name}`, or the rank of the job that get_global_rank gives"
            )
            yield facts.finding(RULE, call.site, message, severity=Severity.WARNING)


def _of_part(call: CallEvent, position: int) -> bool:
    """Whether the group is called after one of several ways to split the job."""
    nodes = call.node.args
    given = nodes[position] if position < len(nodes) else next(
        (k.value for k in call.node.keywords if k.arg == "group"), None
    )  # fmt: skip
    return given is not None and heuristics.PART_OF_JOB.found_in(text_of(given))


def _chosen(facts: ModuleFacts, call: CallEvent) -> bool:
    """Not all ranks need come here: another call of the operation in the same function may be theirs."""
    unsure = any(isinstance(atom, Symbol) for g in call.context.guards for atom in g.truth)
    others = (c for c in facts.named(call.path) if c.context.function is call.context.function)
    return unsure and any(other.node is not call.node for other in others)


def _named(root: Value, mask: int) -> list[tuple[int, int]]:
    """(rank, the root that it names) of the ranks that get here; the first two that differ come first."""
    if len(root.atoms) == 1 or not root.known:
        return []
    said = [(rank, root.at(rank)) for rank in range(WORLD) if mask & 1 << rank and type(root.at(rank)) is int]
    return [*said[:1], *(item for item in said[1:] if item[1] != said[0][1])]
