"""A process selects its GPU after a collective has used one

## What it does
Finds `torch.cuda.set_device` after a collective of the same NCCL group that runs on the current device: an object
collective, a reduction of a tensor that was put on "cuda" without an index. A collective that runs only where there are
GPUs and NCCL counts as well. After a `barrier` alone it is a hint.

## Why it hangs
Until `set_device` is called, the current device is GPU 0 on every rank. The collective then makes NCCL connect ranks
that share one GPU ("Duplicate GPU detected", or a hang), and leaves a context of each process on GPU 0, which takes
some hundred megabytes. A barrier reduces on a GPU that it guesses by the rank, and only leaves the context (since torch
2.8).

## Example
```python
dist.init_process_group("nccl")
dist.broadcast_object_list(settings)
torch.cuda.set_device(local_rank)
```

## Use instead
```python
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
dist.broadcast_object_list(settings)
```

## Fix safety
Safe if the two statements are adjacent and the device does not come from the group: they are swapped.

## When it is wrong
`init_process_group` alone, and `device_id=`, are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.barrier
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.ranks.order import surely_before
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.model.record import replace
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD142", "set-device-after-init-or-collective", Severity.WARNING, ("DD263",),
    advice="call torch.cuda.set_device(local_rank) before the first collective",
)  # fmt: skip

#: in-place collectives of one tensor, their first argument
_ON_TENSOR = tuple(f"torch.distributed.{name}" for name in ("all_reduce", "broadcast", "reduce"))


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Device choices that an NCCL collective on the current device always precedes."""
    # few calls can be what comes too early, and to place all others is the dear part
    ran = facts.named("torch.distributed.barrier", *_ON_TENSOR, *devices.OBJECTS)
    for setter in facts.named(*devices.SETTERS):
        if not all(any(_precedes(call, setter) for call in calls) for calls in (facts.named(devices.GROUP), ran)):
            continue
        if (early := _early(facts, setter)) is not None:
            group, first = early
            op = first.path.rpartition(".")[2]
            touches = _only_touches(first)
            message = f"{op} has already {_TOUCHED if touches else _RAN}: select the device before it"
            related = ((first.site, f"{op} here"), (group.site, "the NCCL group is created here"))
            fix = _fix(facts, first, setter)
            severity = Severity.HINT if touches else None
            yield facts.finding(
                RULE, setter.site, message, related=related, fix=fix, context=setter.context, severity=severity
            )


def _early(facts: ModuleFacts, setter: CallEvent) -> tuple[CallEvent, CallEvent] | None:
    """The NCCL group, and a collective on the current device, that the first choice of a device comes after."""
    before = [c for c in facts.calls if _precedes(c, setter)]
    groups = [c for c in before if c.path == devices.GROUP and _on_nccl(facts, c, before) and not devices.bound(c)]
    if not groups or any(c.path in devices.SETTERS for c in before):
        return None
    early = [c for c in before if c.index > groups[0].index and _on_current(facts, c, before)]
    return (groups[0], min(early, key=_only_touches)) if early else None


#: what a barrier has done on GPU 0, and what other collectives have
_TOUCHED = "put a tensor on the current device, so each rank keeps a context on GPU 0"
_RAN = "run on the current device, GPU 0 on every rank"


def _only_touches(call: CallEvent) -> bool:
    return call.path == "torch.distributed.barrier"


def _on_nccl(facts: ModuleFacts, group: CallEvent, before: list[CallEvent]) -> bool:
    """Whether it has NCCL: it is asked for, or what follows is done only then."""
    asked = any("nccl" in guard.text.lower() for c in before if c.index > group.index for guard in c.context.guards)
    return devices.on_nccl(facts, group) or (asked and devices.may_be_on_nccl(facts, group))


def _precedes(call: CallEvent, setter: CallEvent) -> bool:
    """Whether it precedes the choice: always, or under conditions that only ask whether there are GPUs and NCCL."""
    if call.index >= setter.index:
        return False
    if surely_before(call.context, setter.context):
        return True
    known = {(g.site, g.side) for g in setter.context.guards}
    more = [g for g in call.context.guards if (g.site, g.side) not in known]
    plain = tuple(g for g in call.context.guards if g not in more or not heuristics.ASKS_FOR_GPUS.found_in(g.text))
    return surely_before(replace(call.context, guards=plain), setter.context)


def _on_current(facts: ModuleFacts, call: CallEvent, before: list[CallEvent]) -> bool:
    if not devices.default_group(call) or call.opaque:
        return False
    if call.path == "torch.distributed.barrier":
        current = facts.torch_version >= devices.BARRIER_TOUCHES_CURRENT
        return current and not call.args and call.keyword("device_ids") is None
    if call.path in devices.OBJECTS:
        return call.keyword("device") is None
    if call.path in _ON_TENSOR and call.args:
        return any(c.result.atoms == call.args[0].atoms and devices.unspecified(c) for c in before)
    return False


def _fix(facts: ModuleFacts, early: CallEvent, setter: CallEvent) -> Fix | None:
    """Swap two neighbouring one-line statements, unless the device is computed from the group."""
    if setter.args[0].tags & Tag.RANK if setter.args else True:
        return None
    for node in facts.module.nodes:
        body = getattr(node, "body", None)
        for first, second in itertools.pairwise(body) if isinstance(body, list) else ():
            if _is(first, early) and _is(second, setter) and first.lineno == first.end_lineno:
                return _swapped(facts, first, second)
    return None


def _is(statement: object, call: CallEvent) -> bool:
    return isinstance(statement, ast.Expr) and statement.value is call.node


def _swapped(facts: ModuleFacts, first: ast.stmt, second: ast.stmt) -> Fix | None:
    one, two = site_of(facts.module, first), site_of(facts.module, second)
    texts = [ast.get_source_segment(facts.module.text, s) for s in (first, second)]
    if texts[0] is None or texts[1] is None or two.line != two.end_line or one.line == two.line:
        return None
    edits = (
        Edit(one.line, one.column, one.end_line, one.end_column, texts[1]),
        Edit(two.line, two.column, two.end_line, two.end_column, texts[0]),
    )
    return Fix(Applicability.SAFE, edits)
