"""set_epoch without effect or with an error

## What it does
Finds `set_epoch` called on a `DataLoader` or on a sampler that has no such method, such as `loader.sampler` of a loader
that was given a `batch_sampler`, and `set_epoch` called with a constant inside the epoch loop.

## Why it harms
`DataLoader` has no `set_epoch`: the call raises AttributeError. With a constant, every epoch has the same order.

## Example
```python
loader = DataLoader(data, sampler=sampler)
for epoch in range(10):
    loader.set_epoch(epoch)
```

## Use instead
```python
for epoch in range(10):
    loader.sampler.set_epoch(epoch)
```

## Fix safety
No automatic fix.

## When it is wrong
After `hasattr` or `isinstance` tests of the same object, nothing is reported, nor of a constant that the call itself
chooses (`epoch if training else 0`), nor where the loops over what the sampler gives only evaluate. A number in a
variable, an attribute or a dict is no constant where any statement of the files raises what it is read from
(`state.epoch += 1`).

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders, loop_purpose
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.iteration import only_element
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD102",
    "set-epoch-misuse",
    Severity.ERROR,
    advice="call set_epoch(epoch) on the DistributedSampler with the loop's epoch",
)


_WITHOUT = frozenset(
    f"torch.utils.data.{name}" for name in ("DataLoader", "RandomSampler", "SequentialSampler", "BatchSampler")
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Calls of set_epoch on what has none, or with a constant in a loop."""
    for call in facts.methods("set_epoch"):
        obj = call.receiver.object if call.receiver is not None else None
        if not isinstance(obj, Made) or any("hasattr" in g.text or "isinstance" in g.text for g in call.context.guards):
            continue
        assert call.receiver is not None
        if obj.path in _WITHOUT and not call.receiver.tags & (Tag.MAYBE | Tag.PREPARED):
            message = f"a {_kind(obj)} has no set_epoch: call it on its DistributedSampler"
            yield facts.finding(RULE, call.site, message, context=call.context)
        elif obj.path == aliases.SAMPLER and _repeated(call) and call.args and call.args[0].known:
            # who evaluates wants the same order each time, also in `epoch if training else 0`
            given = call.node.args[0]
            if isinstance(given, ast.IfExp) or _evaluates(facts, obj) or _is_raised(facts, given):
                continue
            constant = call.args[0].constant
            message = f"set_epoch({constant!r}) in a loop: every epoch has the same order; pass the number of the epoch"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _kind(made: Made) -> str:
    """The class of what has no epochs, and whose it is."""
    kind = made.path.rpartition(".")[2]
    # the program does not make it
    return f"{kind}, which a loader has beside its batch_sampler," if made.node is None else kind


def _evaluates(facts: ModuleFacts, sampler: Made) -> bool:
    """Whether loops go through what the sampler gives, and none of them trains."""
    over = [one for one in facts.iterations if (of := loaders.sampler_of(one.loop.over)) and of.site == sampler.site]
    return bool(over) and not any(loop_purpose.trains(facts, one) for one in over)


def _is_raised(facts: ModuleFacts, given: ast.expr) -> bool:
    """Whether something in a file raises what the number is read from, where the simulation of the loop may not have
    seen it: a function that the loop calls, a nested one with `nonlocal`."""
    read = {name for node in walk(given) if (name := _place(node))}
    added = (_place(node.target) for module in facts.modules for node in module.of(ast.AugAssign))
    stored = (node for module in facts.modules for node in module.of(ast.Assign))
    return bool(read) and (not read.isdisjoint(added) or any(_computed_from_itself(node, read) for node in stored))


def _computed_from_itself(node: ast.Assign, read: set[str]) -> bool:
    """Whether it is `state.epoch = state.epoch + 1`."""
    places = {_place(target) for target in node.targets} & read
    return any(_place(part) in places for part in walk(node.value))


def _place(node: ast.AST) -> str:
    """The name, attribute or key that something is read from, "" if it is none."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _repeated(call: CallEvent) -> bool:
    """Whether a loop around calls it again and again: not one through the samplers, nor one of one turn."""
    owner = text_of(call.node.func.value) if isinstance(call.node.func, ast.Attribute) else ""
    loops = (loop for loop in call.context.loops if loop.over is None or only_element(loop.over) is None)
    return any(loop.target != owner for loop in loops)
