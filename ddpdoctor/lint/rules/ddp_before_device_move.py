"""A model is moved after it was wrapped

## What it does
Finds `DistributedDataParallel(model).to(device)` and `.cuda()` on the wrapped model, and `device_ids` that is not a
list.

## Why it harms
DDP creates its buckets and broadcasts parameters on the device where they are at construction. Gradients are then
reduced on the wrong device or not at all.

## Example
```python
model = DDP(net).cuda()
```

## Use instead
```python
model = DDP(net.cuda(), device_ids=[local_rank])
```

## Fix safety
No automatic fix.

## When it is wrong
If lint cannot see where the network comes from, it may already be on its device; the finding is then a hint.
`.to(dtype)`, `.to(memory_format=...)` and moves of a network that was moved before are not reported.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.values import symbol_key
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import walk

RULE = LintRule(
    "DD161",
    "ddp-before-device-move",
    Severity.ERROR,
    advice="move the network first and wrap it last; device_ids is a list",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Moves of a wrapped model; device_ids that is a bare number."""
    for call in facts.methods("to", "cuda"):
        made = wrapping.wrapper_of(call.receiver)
        if made is None or made.path not in collectives.WRAPPERS or not _moves(call):
            continue
        if made.node is not None and any(inner is call.node for inner in walk(made.node)):
            continue  # `DDP(net.cuda())` of a method that is run again
        elsewhere = _was_elsewhere(facts, made)
        if elsewhere is not None:
            message = "the model is already wrapped: move it to its device before DistributedDataParallel(...)"
            severity = Severity.ERROR if elsewhere else Severity.HINT
            related = ((made.site, "wrapped here"),)
            yield facts.finding(RULE, call.site, message, related=related, severity=severity, context=call.context)
    for call in facts.named("torch.nn.parallel.DistributedDataParallel"):
        given = call.argument(1, "device_ids")
        if given is not None and given.known and isinstance(given.at(0), int):
            message = "device_ids must be a list: write device_ids=[...]"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _moves(call: CallEvent) -> bool:
    """To a device, not to a dtype or a memory format."""
    if call.method == "cuda":
        return True
    target = call.argument(0, "device")
    if target is None:
        return False
    if isinstance(target.object, Made):
        return target.object.path == "torch.device" and not _on_cpu(target.object)
    if target.known and len(target.atoms) > 1:
        return all(isinstance(a, int) or str(a).startswith("cuda") for a in target.atoms)
    return any(text.startswith("cuda") for text in devices.texts_of(call, 0, "device"))


def _on_cpu(device: Made) -> bool:
    return bool(device.args) and device.args[0].constant == "cpu"


def _was_elsewhere(facts: ModuleFacts, made: Made) -> bool | None:
    """Whether the network certainly was on no GPU when it was wrapped; False if not known, None if it was on one."""
    network = made.argument(0, "module")
    if network is None or facts.suggests(heuristics.DEFAULT_DEVICE) or _made_under_device(facts):
        return None
    key = symbol_key(network)
    # a move that changes nothing is not a mistake
    for call in facts.methods("to", "cuda"):
        before = call.receiver is not None and key is not None and symbol_key(call.receiver) == key
        if before or call.result.atoms == network.atoms:
            return None
    obj = network.object
    if not isinstance(obj, (Instance, Made)):
        return False
    made_here = isinstance(obj, Instance) or obj.path.startswith(("torch.nn.", "torchvision.models."))
    return None if _told_a_device(obj) else made_here


def _made_under_device(facts: ModuleFacts) -> bool:
    """`with torch.device("cuda"):` occurs: what is created inside is created on the GPU."""
    items = (item.context_expr for node in facts.module.of(ast.With) for item in node.items)
    return any(isinstance(e, ast.Name) or (isinstance(e, ast.Call) and getattr(e.func, "attr", "") == "device")
               for e in items)  # fmt: skip


def _told_a_device(obj: Instance | Made) -> bool:
    """The network was created on its device: its constructor received a device."""
    if any(name in ("device", "**") for name, _ in obj.keywords):
        return True
    given = (*obj.args, *(v for _, v in obj.keywords))
    return any(isinstance(v.object, Made) and v.object.path == "torch.device" for v in given)
