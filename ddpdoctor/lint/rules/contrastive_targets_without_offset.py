"""Targets of a contrastive loss that begin at 0 on every rank

## What it does
Finds a cross entropy of products of a rank's own features with those gathered from all ranks, whose targets are
`torch.arange(batch)`: the columns of this rank begin at `rank * batch`. And one whose targets begin there, while the
program puts this rank's own columns before those of the others: `torch.cat([x, *others])`. And one whose targets begin
at `local_rank * batch`, which is a hint where neither the file is told of nodes (`--nnodes`, `node_rank`, Slurm's
variables) nor a script or text of the repository starts the program on several.

## Why it harms
Each rank but the first takes samples of the first rank for the partners of its own. Nothing fails: the loss falls
slowly, or not at all. By the local rank it is each rank of the second node that takes those of one of the first.

## Example
```python
every = torch.cat(dist.nn.all_gather(texts))
logits = images @ every.t() / temperature
loss = F.cross_entropy(logits, torch.arange(len(images), device=images.device))
```

## Use instead
```python
targets = torch.arange(len(images), device=images.device) + dist.get_rank() * len(images)
loss = F.cross_entropy(logits, targets)
```

## Fix safety
No automatic fix.

## When it is wrong
When the program puts this rank's features first in a way that the code does not show. Products in which both sides are
gathered, targets with an offset, and features gathered in a group of their own are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import cross_entropies, gathered_orders, launch
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made, Method
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, RelatedRole, Severity

RULE = LintRule(
    "DD155",
    "contrastive-targets-without-offset",
    Severity.WARNING,
    words=frozenset({"arange"}),
    advice="let the targets begin at this rank's own columns: rank * batch size, or 0 where they come first",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Losses of products with what all ranks have, by targets that do not begin at this rank's own."""
    for call in cross_entropies.calls(facts):
        logits, target = call.argument(0, "input"), call.argument(1, "target")
        if logits is not None and target is not None and target.tags & Tag.RANK:
            yield _shifted(facts, call, logits)
        if logits is not None and target is not None and target.tags & _ANY_NUMBER == Tag.LOCAL_RANK:
            yield _by_local_rank(facts, call, logits)
        if logits is None or target is None or not logits.tags & Tag.AGAINST_ALL or not _from_zero(target):
            continue
        message = (
            "the logits have a column for each sample of all ranks, and these targets begin at the first rank's on "
            "every rank: the partners of this rank's samples begin at rank * batch size"
        )
        yield facts.finding(RULE, call.site, message, context=call.context)


def _shifted(facts: ModuleFacts, call: CallEvent, logits: Value) -> Finding | None:
    """Targets that are a function of the rank, where the columns begin with this rank's own on every rank."""
    joined = gathered_orders.own_first(facts, logits)
    if joined is None:
        return None
    message = (
        "the columns of the logits begin with this rank's own samples on every rank, and these targets are shifted by "
        "the rank: they begin at another rank's samples"
    )
    return facts.finding(RULE, call.site, message, related=((joined.site, "joined here"),), context=call.context)


#: numbers of ranks, and that it may be none or another one
_ANY_NUMBER = ANY_RANK | Tag.SPAWNED | Tag.IN_GROUP | Tag.MAYBE


def _by_local_rank(facts: ModuleFacts, call: CallEvent, logits: Value) -> Finding | None:
    """Targets that are shifted by the local rank, where the columns are those of the ranks of all nodes."""
    if not logits.tags & Tag.AGAINST_ALL or launch.one_node_only(facts):
        return None
    several = launch.told_of_nodes(facts)
    message = Conditional(
        "" if several else "if this is ever started on two nodes, ",
        "the logits have a column for each sample of all ranks, and these targets are shifted by the local rank: on "
        "the second node they begin at samples of the first",
    )
    severity = None if several else Severity.HINT
    open_ = None if several else Unconfirmed(call.site, RelatedRole.UNCONFIRMED)
    return facts.finding(RULE, call.site, message, severity=severity, context=call.context, unconfirmed=open_)


def _from_zero(target: Value) -> bool:
    """Whether it is `torch.arange(count)`, and at most moved since."""
    obj = target.object
    while isinstance(obj, Method) and obj.name in _MOVING:
        obj = obj.receiver.object
    return isinstance(obj, Made) and obj.path == "torch.arange" and len(obj.args) == 1 and not obj.opaque


_MOVING = frozenset({"to", "cuda", "cpu", "long", "contiguous", "detach"})
