"""A group created by some ranks only

## What it does
Finds `new_group`, `new_subgroups`, `split_group` or `init_device_mesh` under a branch on the rank, and `new_group` with
members that each rank computes from its own number.

## Why it hangs
All ranks of the job must call `new_group` for every group in the same order, including those that will not be members.
With torch 2.13 on gloo, the incomplete call returns, and the *next* `new_group` hangs beyond its timeout. Groups are
named by how many there were before: if each rank creates the group of its own neighbours, groups of other members have
one name, and their ranks connect to the wrong ones, hang or are aborted.

## Example
```python
if rank in (0, 1):
    pair = dist.new_group([0, 1])
```

## Use instead
```python
pair = dist.new_group([0, 1])
```

## Fix safety
No automatic fix.

## When it is wrong
With `use_local_synchronization=True` only members need to call it; that is not reported. Nor is a group of the rank
alone, which meets nobody.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.new_group
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.collective_calls import listed_ranks
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence, place, proof
from ddpdoctor.lint.ranks.reach import Reached, reached
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.tags import ANY_RANK
from ddpdoctor.lint.values.truths import rank_decided
from ddpdoctor.lint.values.values import WORLD, Symbol, Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD117",
    "new-group-not-on-all-ranks",
    Severity.ERROR,
    ("DD203", "DD219"),
    advice="create the group on all ranks, also on those that are not in it",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences whose operation creates a group, and groups that differ."""
    yield from _own_members(facts)
    for item in facts.divergences:
        if item.op.op == "new_group" and item.exit is None and _by_rank(item) and not _there_already(facts, item):
            message = f"every rank must create every group, members or not: {proof(item)}"
            related = ((item.branch.site, f"the branch: {shown(item.branch.text)}"),)
            # of `rank % size == 0`, all ranks may be in where the size is not known
            open_ = item.local and " in " not in item.branch.text
            told = Conditional("unless all ranks come here, ", message) if open_ else message
            severity = Severity.WARNING if open_ else None
            yield facts.parting(RULE, item, place(item), told, related=related, severity=severity)


def _own_members(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Calls by all ranks, each of which names other members: its own."""
    for call in facts.named("torch.distributed.new_group"):
        given = call.argument(0, "ranks")
        local = call.keyword("use_local_synchronization")
        if given is None or call.opaque or (local is not None and local.constant is not False):
            continue
        if call.context.some_ranks_only or (found := _differ(given)) is None:
            continue
        severity, example = found
        said = f"every rank must create every group, in one order, and here each creates that of its own{example}"
        message = said if severity is Severity.ERROR else Conditional(_OF_MORE, said)
        yield facts.finding(RULE, call.site, message, context=call.context, severity=severity)


#: ranks whose numbers are too small for the few that are simulated to differ: `rank // 8`
_OF_MORE = "where the job has more ranks than one such group, "


def _differ(given: Value) -> tuple[Severity, str] | None:
    """How sure it is that ranks name other members, and an example; None if nothing says so, and of ranks alone."""
    lists = [[*named] for rank in range(WORLD) if (named := listed_ranks(given, rank)) is not None]
    if any(one == [rank] for rank, one in enumerate(lists)):
        return None
    if len(lists) < WORLD:
        return (Severity.WARNING, "") if _is_computed(given) and not _is_alone(given) else None
    other = next((rank for rank in range(WORLD) if lists[rank] != lists[0]), None)
    if other is not None:
        return Severity.ERROR, f": rank 0 that of {lists[0]}, rank {other} that of {lists[other]}"
    return (Severity.WARNING, "") if _is_computed(given) else None


def _is_computed(given: Value) -> bool:
    """Whether what a list is made of depends on the rank's number."""
    made = given.object
    parts = made.items if isinstance(made, Items) else made.args if isinstance(made, Made) else ()
    return bool(given.tags & ANY_RANK) or any(map(_is_computed, parts))


def _is_alone(given: Value) -> bool:
    """Whether it lists one rank."""
    return isinstance(given.object, Items) and len(given.object.items) == 1


def _by_rank(item: CollectiveDivergence) -> bool:
    """The branch is on the rank: a known one, or `if rank in members` or `rank % size == 0` with what is not known."""
    return not item.local or bool(item.branch.tags & ANY_RANK)


def _there_already(facts: ModuleFacts, item: CollectiveDivergence) -> bool:
    """All ranks came through the same lines before, and now an unknown condition decides: perhaps whether they did. Of
    functions that are started from elsewhere, such as a fixture and a test, each may be the first."""
    found = [
        [r for r in reached([root]) if r.op.site == item.op.site and r.op.detail in ("", item.op.detail)]
        for root in facts.analysis.roots
    ]
    by_all = [any(map(_is_by_all, by_root)) for by_root in found]
    again = [
        skipped
        for index, by_root in enumerate(found)
        for skipped in _after_all_ranks(by_root, item, made=any(by_all[:index] + by_all[index + 1 :]))
    ]
    return bool(again) and all(again)


def _is_by_all(one: Reached) -> bool:
    """Whether no rank is kept from it by its number."""
    return not any(rank_decided(branch.truth) for branch in one.under)


def _after_all_ranks(found: list[Reached], item: CollectiveDivergence, *, made: bool) -> Iterator[bool]:
    """For each time that only some ranks create this group: whether it was created before, and may be skipped now."""
    for one in found:
        if _is_by_all(one):
            made = True
            continue
        unknown = any(len(a.truth) == 1 or isinstance(a.truth[item.runs], Symbol) for a in one.under)
        yield made and unknown
