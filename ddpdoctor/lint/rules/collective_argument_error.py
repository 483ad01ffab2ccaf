"""An argument of a collective has another meaning than intended

## What it does
Finds `ReduceOp` passed where `reduce` and `gather` expect a rank, a broadcast root that is not a member of the group,
and a root that differs between ranks, such as each rank itself. A constant root is a warning in a group of which there
are several: that is called after a way to split the job, such as `data_parallel_group`, belongs to one dimension of a
mesh, or is made in a loop of ranks that depend on the turn; and so is a root that is one in the group:
`get_group_rank(...)`, also in an attribute that the program stores nothing else in, what the function compares with
`get_rank(group)` of a group that it is given, and, in a group of which there are several, this rank's number in it or
that of its neighbour, `mesh.get_local_rank() + 1`, of which the other end of a message is a warning, too. Also finds a
list for the tensors of all ranks that holds one tensor many times: `[torch.zeros_like(x)] * world_size`; a
`gather_list` or `scatter_list` on other ranks than the root; and tensors on the CPU, and `monitored_barrier`, in a
group of NCCL alone.

## Why it harms
`dist.reduce(x, dist.ReduceOp.SUM)` raises nothing: the enum is taken as the destination rank. A root outside the group
raises ValueError, and so does a list that only the root may give. NCCL has no operations for the CPU. Ranks that name
different roots wait for one another, or each keeps its own data. Multiplying a list copies no tensor: what one rank has
sent overwrites what another has, and all entries are equal.

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
Where the default device is not the CPU: a program that sets one is not looked at for tensors on the CPU. Of tensors it
looks at no more than where they were made, and not at their sizes.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices, ranks_in_groups
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics, vocabulary
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import External, GroupOf, Items, Listed, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import WORLD, Symbol, Value
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD119",
    "collective-argument-error",
    Severity.ERROR,
    advice="pass the arguments by name, the same root on all ranks, and a tensor for each rank",
)


#: operation -> (position and name of its root, position of its group)
_ROOTED = {
    f"torch.distributed.{op}": where for op, where in (
        ("reduce", (1, "dst", 3)), ("broadcast", (1, "src", 2)), ("gather", (2, "dst", 3)), ("scatter", (2, "src", 3)),
        ("broadcast_object_list", (1, "src", 2)), ("gather_object", (2, "dst", 3)),
        ("scatter_object_list", (2, "src", 3)),
    )
}  # fmt: skip


#: message -> (position and name of the other rank, position of its group)
_PAIRED = {
    f"torch.distributed.{op}": where for op, where in (
        ("send", (1, "dst", 2)), ("isend", (1, "dst", 2)), ("recv", (1, "src", 2)), ("irecv", (1, "src", 2)),
        ("P2POp", (2, "peer", 3)),
    )
}  # fmt: skip


#: operation -> position and name of the list that it fills, with a tensor of each rank
_FILLED = {
    "torch.distributed.all_gather": (0, "tensor_list"), "torch.distributed.gather": (1, "gather_list"),
    "torch.distributed.all_to_all": (0, "output_tensor_list"),
}  # fmt: skip


#: operation -> position and name of the list that only its root gives, and position and name of the root
_OF_ROOT = {
    "torch.distributed.gather": ((1, "gather_list"), (2, "dst")),
    "torch.distributed.scatter": ((1, "scatter_list"), (2, "src")),
}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Roots that are not ranks, or not ranks of the group; lists in which one tensor stands for all ranks, or that
    others than the root give; what NCCL does not have."""
    yield from _one_tensor(facts)
    yield from _given_by_others(facts)
    yield from _beyond_nccl(facts)
    yield from _peers(facts)
    for call in facts.named(*_ROOTED):
        position, name, group_at = _ROOTED[call.path]
        root = call.argument(position, name)
        if root is None:
            continue
        if isinstance(root.object, External) and ".ReduceOp." in root.object.path:
            message = f"a ReduceOp is passed as the rank `{name}`: write op=..."
            yield facts.finding(RULE, call.site, message, context=call.context)
            continue
        group = call.argument(group_at, "group")
        if group is None or (group.known and group.constant is None):
            named = _named(root, call.context.mask)
            if len({said for _, said in named}) > 1 and not call.opaque and not _chosen(facts, call):
                shown = ", ".join(f"rank {rank} passes {said}" for rank, said in named[:2])
                yield facts.finding(
                    RULE, call.site, f"the ranks pass different values for `{name}`: {shown}", context=call.context
                )
                continue
        members = group.object.members if group is not None and isinstance(group.object, GroupOf) else None
        if members is not None and isinstance(root.constant, int) and root.constant not in members:
            message = f"rank {root.constant} is not a member of this group {list(members)}: torch raises ValueError"
            yield facts.finding(RULE, call.site, message, context=call.context)
        elif members is None and group is not None and not (group.known and group.constant is None):
            yield _in_group(facts, call, root, group)


def _peers(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Messages to and from a rank that is one in the group."""
    for call in facts.named(*_PAIRED):
        position, name, group_at = _PAIRED[call.path]
        peer, group = call.argument(position, name), call.argument(group_at, "group")
        if peer is None or group is None or (group.known and group.constant is None):
            continue
        nodes = _given(call, position, name), _given(call, group_at, "group")
        if _is_of_part(facts, call, group, nodes[1]) and ranks_in_groups.is_counted_in_group(
            facts, call, peer, nodes[0]
        ):
            message = _OF_GROUP.format(name=name)
            yield facts.finding(RULE, call.site, message, severity=Severity.WARNING, context=call.context)


def _is_of_part(facts: ModuleFacts, call: CallEvent, group: Value, node: ast.expr | None) -> bool:
    """Whether there are several groups of this kind, by what the program does or by the group's name."""
    several = ranks_in_groups.is_of_several(facts, call, group, node)
    return several or (node is not None and heuristics.PART_OF_JOB.found_in(text_of(node)))


_OF_GROUP = (
    "`{name}` is a rank of the job, and this is one in the group: unless that has all ranks in order, torch raises "
    "ValueError: give `group_{name}`, or the rank of the job that get_global_rank gives"
)


def _is_rank_of_group(facts: ModuleFacts, call: CallEvent, root: Value, group: Value) -> bool:
    """Whether what is passed as the root is certainly a rank in the group."""
    position, name, group_at = _ROOTED[call.path]
    nodes = _given(call, position, name), _given(call, group_at, "group")
    if ranks_in_groups.is_of_group(root) or ranks_in_groups.is_kept_of_group(facts, nodes[0]):
        return True
    part = _is_of_part(facts, call, group, nodes[1])
    return part and ranks_in_groups.is_counted_in_group(facts, call, root, nodes[0])


def _in_group(facts: ModuleFacts, call: CallEvent, root: Value, group: Value) -> Finding | None:
    """A root that is a rank in a group whose members are not known: it is that of the job in one of several at most."""
    position, name, group_at = _ROOTED[call.path]
    nodes = _given(call, position, name), _given(call, group_at, "group")
    constant = type(root.constant) is int
    several = ranks_in_groups.is_of_several(facts, call, group, nodes[1]) and ranks_in_groups.is_for_all(call)
    related: tuple[tuple[SourceSite, str], ...] = ()
    why = f"where a job has several such groups, rank {root.constant} is in one of them only, and in the others torch"
    if not constant or not (several or (nodes[1] is not None and heuristics.PART_OF_JOB.found_in(text_of(nodes[1])))):
        place = ranks_in_groups.compared(facts, call, *nodes)
        if place is None and not _is_rank_of_group(facts, call, root, group):
            return None
        related = ((place, "compared with the rank in the group here"),) if place is not None else ()
        why = f"`{name}` is a rank of the job, and this is one in the group: unless that has all ranks in order, torch"
    message = f"{why} raises ValueError: give `group_{name}`, or the rank of the job that get_global_rank gives"
    return facts.finding(RULE, call.site, message, related=related, severity=Severity.WARNING, context=call.context)


def _given(call: CallEvent, position: int, name: str) -> ast.expr | None:
    """An argument as it is written."""
    nodes = call.node.args
    if position < len(nodes):
        return nodes[position]
    return next((keyword.value for keyword in call.node.keywords if keyword.arg == name), None)


def _chosen(facts: ModuleFacts, call: CallEvent) -> bool:
    """Not all ranks need come here: another call of the operation in the same function may be theirs."""
    unsure = _under_condition(call)
    others = (c for c in facts.named(call.path) if c.context.function is call.context.function)
    return unsure and any(other.node is not call.node for other in others)


def _under_condition(call: CallEvent) -> bool:
    """Whether a condition that nothing decides is around it: perhaps not all ranks come here, or none."""
    return any(isinstance(atom, Symbol) for g in call.context.guards for atom in g.truth)


def _named(root: Value, mask: int) -> list[tuple[int, int]]:
    """(rank, the root that it names) of the ranks that get here; the first two that differ come first."""
    if len(root.atoms) == 1 or not root.known:
        return []
    said = [(rank, root.at(rank)) for rank in range(WORLD) if mask & 1 << rank and type(root.at(rank)) is int]
    return [*said[:1], *(item for item in said[1:] if item[1] != said[0][1])]


def _one_tensor(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Lists that hold one tensor several times, where each rank's values shall go into a tensor of its own."""
    for call in facts.named(*_FILLED):
        if call.site.file != facts.module.path:
            continue
        position, name = _FILLED[call.path]
        given = next((k.value for k in call.node.keywords if k.arg == name), None)
        if given is None and position < len(call.node.args):
            given = call.node.args[position]
        made = _made(facts, call, given) if isinstance(given, ast.Name) else given
        if made is None or not _repeats(made):
            continue
        op = call.path.rpartition(".")[2]
        message = (
            f"all entries of this list are one tensor, so that {op} leaves the values of one rank in all of them: make "
            "a tensor for each rank, `[torch.empty_like(x) for _ in range(world_size)]`"
        )
        related = ((site_of(facts.module, made), "the list is made here"),)
        yield facts.finding(RULE, call.site, message, related=related if made is not given else ())


def _given_by_others(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Lists that ranks give which are not the root."""
    for call in facts.named(*_OF_ROOT):
        (at, name), root_at = _OF_ROOT[call.path]
        given, root = call.argument(at, name), call.argument(*root_at)
        number = 0 if root is None else root.constant
        if given is None or type(number) is not int or call.opaque or call.keyword(f"group_{root_at[1]}") is not None:
            continue
        others = [rank for rank in range(WORLD) if call.context.mask & 1 << rank and rank != number]
        if (
            others
            and not _under_condition(call)
            and len(given.atoms) == 1
            and _is_filled(given)
            and devices.default_group(call)
        ):
            sure = call.context.from_script
            message = Conditional(
                "" if sure else f"unless rank {number} alone comes here, ",
                f"`{name}` is for rank {number} alone: torch raises ValueError on rank {others[0]}",
            )
            severity = None if sure else Severity.WARNING
            yield facts.finding(RULE, call.site, message, context=call.context, severity=severity)


def _is_filled(given: Value) -> bool:
    """Whether it is certainly a list with something in it."""
    made = given.object
    if isinstance(made, Items):
        return bool(made.items)
    return isinstance(made, Listed) and made.element is not None and not given.tags & (Tag.MAYBE | Tag.UNEVEN)


def _beyond_nccl(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Operations in a job whose only backend is NCCL that it does not have, and those of tensors on the CPU."""
    groups = facts.named(devices.GROUP)
    if not groups or any(devices.texts_of(group, 0, "backend") != {"nccl"} for group in groups):
        return
    for call in facts.named("torch.distributed.monitored_barrier"):
        if devices.default_group(call):
            yield facts.finding(
                RULE, call.site, "NCCL has no monitored_barrier: torch raises here", context=call.context
            )
    if heuristics.SETS_DEFAULT_DEVICE.found_in_any(facts.texts):
        return
    for path, (position, name) in _TENSORS.items():
        for call in facts.named(path):
            given = call.argument(position, name)
            if given is not None and _is_on_cpu(given) and devices.default_group(call):
                message = "this tensor is on the CPU, for which a group of NCCL has no operations: torch raises here"
                severity = Severity.WARNING if _under_condition(call) else None
                yield facts.finding(RULE, call.site, message, context=call.context, severity=severity)


#: operation -> position and name of the tensor that it is given
_TENSORS = {
    f"torch.distributed.{row.name}": (row.position(row.gives), row.gives)
    for row in c10d.FUNCTIONS.values()
    if row.gives in ("tensor", "input_tensor", "input")
}


def _is_on_cpu(value: Value) -> bool:
    """Whether a tensor was made without a device, and not moved."""
    made = value.object
    if not isinstance(made, Made) or made.opaque or value.tags & Tag.MAYBE:
        return False
    new = made.path in vocabulary.TENSORS and "cuda" not in made.path and not made.path.endswith("_like")
    return new and made.keyword("device") is None and not any(map(_may_be_tensor, made.args))


def _may_be_tensor(value: Value) -> bool:
    """Whether it is not known to be a number or a list: `as_tensor` of a tensor keeps its device."""
    return not value.known and not isinstance(value.object, (Items, Listed))


def _made(facts: ModuleFacts, call: CallEvent, name: ast.Name) -> ast.expr | None:
    """What a list is made of that has one assignment in the function, and no entry set on its own."""
    scope = innermost_function(facts.module.tree, call.site.line) or facts.module.tree
    nodes = walk(scope)
    sets = [n for n in nodes if isinstance(n, ast.Name) and n.id == name.id and isinstance(n.ctx, ast.Store)]
    made = [n for n in nodes if isinstance(n, ast.Assign) and n.targets == sets]
    if len(made) != 1 or made[0].lineno > call.site.line:
        return None
    changed = (n.value for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
    before = (n for n in changed if isinstance(n, ast.Name) and n.id == name.id and n.lineno < call.site.line)
    return made[0].value if next(before, None) is None else None


def _repeats(expr: ast.expr) -> bool:
    """Whether it is a list of one tensor, repeated: multiplied, or made anew for no entry of a comprehension."""
    if isinstance(expr, ast.IfExp):
        return _repeats(expr.body) or _repeats(expr.orelse)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
            if isinstance(side, (ast.List, ast.Tuple)) and len(side.elts) == 1:
                once = isinstance(other, ast.Constant) and other.value == 1
                return not once and isinstance(side.elts[0], (ast.Call, ast.Name, ast.Attribute))
    if isinstance(expr, ast.ListComp) and isinstance(expr.elt, (ast.Name, ast.Attribute)):
        own = {n.id for g in expr.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        return not own & {n.id for n in ast.walk(expr.elt) if isinstance(n, ast.Name)}
    return False
