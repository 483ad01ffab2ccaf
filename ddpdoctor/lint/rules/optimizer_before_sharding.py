"""An optimizer has the parameters that a model had before it was sharded

## What it does
Finds optimizers that are made of the parameters of a model, or of a part of it, before `fully_shard` or
`FullyShardedDataParallel` shards that model, and that update later: also of parameters in groups, in lists that are
chosen by name or shape, and through functions of the project.

## Why it harms
Sharding puts new parameters in the place of the old ones. The old ones, which the optimizer has, never get a gradient:
each step changes nothing, on all ranks alike. Nothing is reported, and the model never learns.

## Example
```python
optimizer = torch.optim.AdamW(model.parameters())
fully_shard(model)
for x in batches:
    model(x).mean().backward()
    optimizer.step()
```

## Use instead
```python
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
```

## Fix safety
No automatic fix.

## When it is wrong
`FullyShardedDataParallel(..., use_orig_params=True)` keeps the parameters, and a wrapper whose options cannot be read
may: neither is reported. Nor is an optimizer that is made again after, whose groups are given other parameters, that a
framework has prepared, or that belongs to the process that starts the ranks, or trains alone instead.

## References
https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import exclusion, single_process
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.network_parts import Part, Parts, contains, holds
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.modules import Module

RULE = LintRule(
    "DD178",
    "optimizer-before-sharding",
    Severity.ERROR,
    advice="make the optimizer after the model is sharded",
)

#: without the function of torch before 2.4 that kept the parameters
_REPLACING = fsdp.SHARDING - {"torch.distributed._composable.fully_shard"}
_MESSAGE = "this optimizer has the parameters from before the model was sharded, and changes nothing"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`optimizer = AdamW(model.parameters())`, and then `fully_shard(model)`."""
    shards = [call for call in facts.named(aliases.FSDP, *_REPLACING) if not _keeps_parameters(call)]
    if not shards or any(map(_gives_parameters, facts.modules)):
        return
    parts = Parts.of(facts)
    sharded = [(call, part) for call in shards if (part := _of(parts, call.argument(0, "module"))) is not None]
    for made in facts.concerning(_optimizes):
        given = made.argument(0, "params")
        held = [part for model in (holds(given) if given is not None else ()) if (part := parts.part(model))]
        late = [call for call, whole in sharded if any(contains(whole, part) for part in held)]
        if not late or late[0].index < made.index or _apart(facts, made, late[0]):
            continue
        severity = _updates(facts, made, late[0])
        if severity is not None:
            related = ((late[0].site, "sharded here"),)
            yield facts.finding(RULE, made.site, _MESSAGE, related=related, context=made.context, severity=severity)


def _of(parts: Parts, model: Value | None) -> Part | None:
    return parts.part(model) if model is not None and not model.tags & Tag.MAYBE else None


def _optimizes(name: str) -> bool:
    """`torch.optim.AdamW`, and what other packages have in a module for optimizers."""
    module, _, last = name.rpartition(".")
    return last[:1].isupper() and any(part in ("optim", "optimizers") for part in module.split(".")[1:])


def _keeps_parameters(call: CallEvent) -> bool:
    """Whether the parameters stay, or some of them, as far as can be read."""
    if any(call.keyword(f"ignored_{what}") is not None for what in ("params", "modules", "states", "parameters")):
        return True
    original = call.keyword("use_orig_params")
    chosen = original is not None and original.constant is not False
    return call.path == aliases.FSDP and (call.opaque or chosen)


def _gives_parameters(module: Module) -> bool:
    """Whether something sets the parameters of a group: `optimizer.param_groups[0]["params"] = ...`."""
    return "params" in module.text and any(
        isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant) and node.slice.value == "params"
        for node in module.of(ast.Subscript)
    )


def _apart(facts: ModuleFacts, made: CallEvent, shard: CallEvent) -> bool:
    """Whether no run does one and then the other, as far as is known: on other conditions, from other functions that
    are started on their own, or in the process that goes on to start the ranks, whose model is another one."""
    if made.context.calls[:1] != shard.context.calls[:1]:
        return True
    return exclusion.contradict((*made.context.guards, *shard.context.guards)) or any(
        single_process.starts_ranks_later(facts, site) for site in (*made.context.chain, made.site)
    )


def _updates(facts: ModuleFacts, optimizer: CallEvent, shard: CallEvent) -> Severity | None:
    """How sure it is that the optimizer is used after the model was sharded; None if nothing says so."""
    again = (c for c in facts.named(optimizer.path) if c.index > shard.index and c.site == optimizer.site)
    more = (c for c in facts.methods("add_param_group") if c.index > shard.index)
    if next(again, None) is not None or next(more, None) is not None:
        return None
    used = [
        value
        for call in facts.methods("step")
        if call.index > shard.index
        for value in (call.receiver, *call.args[:1])
        if value is not None and isinstance(value.object, Made) and value.object.site == optimizer.site
    ]
    if not used or any(value.tags & Tag.PREPARED for value in used):
        return None
    return Severity.WARNING if all(value.tags & Tag.MAYBE for value in used) else Severity.ERROR
