"""Sends and receives that wait for each other

## What it does
Simulates `send`, `recv`, `isend` and `irecv` of all ranks, with the collectives between them, and finds ranks that can
never leave one: every rank of a ring sends before it receives, two ranks receive from each other first, nobody receives
what is sent, or the other rank waits in a collective.

## Why it hangs
A send ends when the other rank receives, and a receive when the other rank sends. With gloo both wait for each other,
however small the tensor; with NCCL the two ranks first make a communicator, for which both have to come, and then run
on one stream. Gloo takes transfers of different tags for different ones; NCCL ignores tags.

## Example
```python
dist.send(x, (rank + 1) % world)
dist.recv(y, (rank - 1) % world)
```

## Use instead
```python
if rank % 2 == 0:
    dist.send(x, (rank + 1) % world)
    dist.recv(y, (rank - 1) % world)
else:
    dist.recv(y, (rank - 1) % world)
    dist.send(x, (rank + 1) % world)
```
Or post them together: `dist.batch_isend_irecv([dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, y, before)])`.

## Fix safety
No automatic fix.

## When it is wrong
In a function that a caller enters with receives posted before: what is not part of a script that lint can follow to its
end is a warning that says so. A program that is right for two or for three ranks is taken as made for them. Ranks of
other groups, objects, and what is behind a condition that may differ between ranks are not looked at; a condition of
which nothing shows that it can hold makes a warning. What scripts and texts start with `--rank 1`, `--rank 2` and so
on, but never as rank 0, is a hint: that is another program.

## References
https://docs.pytorch.org/docs/stable/distributed.html#point-to-point-communication (that NCCL has no tags: `isend`)
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.ranks.transfers import Stuck, Waiting, stuck
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD121",
    "unmatched-send-recv",
    Severity.ERROR,
    ("DD218",),
    advice="let one of two ranks receive first, or post both with batch_isend_irecv",
)

_SCRIPT = "<module>"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Transfers that never end, once for each place."""
    if facts.alone:
        return
    told = set()
    tags = _told_apart(facts)
    for root in facts.analysis.roots:
        whole = root.name == _SCRIPT
        found = stuck(root.trace, whole=whole, tags=tags)
        if found is None or found.waiting[0].site in told:
            continue
        told.add(found.waiting[0].site)
        yield _finding(facts, found, whole=whole)


def _told_apart(facts: ModuleFacts) -> tuple[bool, ...]:
    """Whether transfers are told apart by their tags: not by NCCL."""
    groups = facts.named(devices.GROUP)
    if groups and not any(devices.may_be_on_nccl(facts, group) for group in groups):
        return (True,)
    only_nccl = groups and all(devices.on_nccl(facts, group) for group in groups)
    return (False,) if only_nccl else (True, False)


def _finding(facts: ModuleFacts, found: Stuck, *, whole: bool) -> Finding | None:
    first, *rest = found.waiting
    said = ", ".join(map(_said, found.waiting))
    ended = "".join(f"; rank {rank} has ended" for rank in found.ended)
    condition = "" if whole else "unless a caller has posted the other ends before, "
    if found.unsure:
        condition = f"where `{shown(found.unsure[0])}` lets ranks come here, "
    related = {one.site: f"rank {one.rank} waits here" for one in reversed(rest) if one.site != first.site}
    return facts.finding(
        *(RULE, first.site, Conditional(condition, f"each of these waits for another for ever: {said}{ended}")),
        related=tuple(sorted(related.items())),
        severity=Severity.WARNING if condition else None,
        chain=first.chain,
    )


def _said(one: Waiting) -> str:
    if one.peer is None:
        return f"rank {one.rank} in {one.op}"
    return f"rank {one.rank} in {one.op} {'to' if one.op == 'send' else 'from'} rank {one.peer}"
