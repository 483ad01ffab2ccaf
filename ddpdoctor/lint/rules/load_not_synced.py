"""State is loaded on some ranks only

## What it does
Finds `load_state_dict` of an optimizer, a schedule or a gradient scaler that only some ranks run, though all ranks make
steps with it, and of a network in a wrapper, or of a part of it, that all ranks then train. As a hint, it finds that of
a wrapped network, or of an optimizer, whose training is not in sight, with no broadcast after it.

## Why it harms
DDP makes parameters equal once, at construction. What only rank 0 loads later stays on rank 0: from then on the ranks
train different models with the same averaged gradients. The state of an optimizer is made equal by no wrapper at all: a
rank that lacks the moments of its Adam makes other steps from the same gradients. Nothing fails.

## Example
```python
model = DistributedDataParallel(net)
if rank == 0:
    model.module.load_state_dict(torch.load("last.pt"))
```

## Use instead
```python
net.load_state_dict(torch.load("last.pt", map_location="cpu"))
model = DistributedDataParallel(net)
```

## Fix safety
No automatic fix.

## When it is wrong
When the state is made equal in code that lint cannot see. Any broadcast before the first step is assumed to do so, but
for one of a few numbers, or of parameters, which holds no state of an optimizer, and one of objects which the other
ranks neither load into it nor hand on together with it; buffers alone are made equal by DDP itself.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import received_states, sent_numbers
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.network_parts import Parts, contains
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made, Method
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import symbol_key
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD176",
    "load-not-synced",
    Severity.WARNING,
    advice="load on every rank, or before the model is wrapped",
)

_SCHEDULES = "torch.optim.lr_scheduler."
#: what makes or scales the steps of all ranks, and is made equal by no wrapper
_KINDS = {"torch.optim": "optimizer", "torch.amp": "gradient scaler", "torch.cuda.amp": "gradient scaler"}
_HARM = {
    "optimizer": "from equal gradients the ranks make different steps",
    "schedule": "the ranks go on with different learning rates",
    "gradient scaler": "gradients that are averaged are scaled differently on the ranks",
}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loads on some ranks that nothing makes equal."""
    loads = [call for call in facts.methods("load_state_dict") if call.context.some_ranks_only]
    for call in loads:
        kind = _kind(call)
        step = _first_step(facts, call) if kind else None
        if step is not None and not _sent(facts, call, step):
            message = (
                f"only some ranks load the state of this {kind}, and nothing sends it to the others: {_HARM[kind]}"
            )
            yield facts.finding(RULE, call.site, message, context=call.context)
        elif not _made_equal(facts, call):
            yield _perhaps(facts, call, kind)


def _perhaps(facts: ModuleFacts, call: CallEvent, kind: str) -> Finding | None:
    """A finding about a state that differs between the ranks from then on; a hint where they need not train with it."""
    message, severity = "", Severity.HINT
    if _after_wrap(facts, call):
        message = "only some ranks load this state, after DDP has made the ranks equal: load it on every rank"
        passes = (c for c in _backward_passes(facts) if c.index > call.index and _by_all(c))
        pass_ = next((c for c in passes if _in_one_program(c, call)), None)
        if pass_ is not None and not _sent(facts, call, pass_) and not _wrapped_again(facts, call):
            severity = Severity.WARNING
    elif kind == "optimizer" and facts.distributed:
        message = "only some ranks load the optimizer's state, and nothing sends it to the others"
    if not message:
        return None
    return facts.finding(RULE, call.site, message, context=call.context, severity=severity)


def _after_wrap(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is of a network that was in a wrapper before, or of a part of one: `ddp.module.backbone`."""
    receiver = call.receiver
    while receiver is not None:
        if wrapping.is_wrapped(receiver) or receiver.tags & Tag.INNER:
            return True
        receiver = receiver.object.receiver if isinstance(receiver.object, Method) else None
    return any(c.index < call.index for c in _wrappings(facts, call))


def _wrapped_again(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a wrapper that is made later sends what was loaded to the others."""
    return any(c.index > call.index for c in _wrappings(facts, call))


def _wrappings(facts: ModuleFacts, call: CallEvent) -> Iterator[CallEvent]:
    """The wrappers that are made of the network whose state is loaded, or of the one that it is a part of."""
    parts = Parts.of(facts)
    part = parts.part(call.receiver) if call.receiver is not None else None
    for wrap in facts.named(*collectives.WRAPPERS):
        whole = parts.part(wrap.args[0]) if wrap.args else None
        if part is not None and whole is not None and contains(whole, part):
            yield wrap


def _backward_passes(facts: ModuleFacts) -> Iterator[CallEvent]:
    """The backward passes in which a wrapper averages gradients."""
    return (c for c in facts.methods("backward") if c.receiver is not None and c.receiver.tags & Tag.DDP)


def _in_one_program(one: CallEvent, two: CallEvent) -> bool:
    """Whether one run comes to both, or methods of one class do."""
    functions = (one.context.function, two.context.function)
    owners = [function.owner for function in functions if function is not None and function.owner is not None]
    return one.context.calls[:1] == two.context.calls[:1] or (len(owners) > 1 and owners[0] is owners[1])


def _by_all(call: CallEvent) -> bool:
    return not call.context.some_ranks_only


def _kind(call: CallEvent) -> str:
    """What the state is of, if it is none of a network: "optimizer", "schedule" or "gradient scaler"."""
    obj = call.receiver.object if call.receiver is not None else None
    if not isinstance(obj, Made):
        return ""
    if obj.path.startswith(_SCHEDULES):
        return "schedule"
    owner, _, name = obj.path.rpartition(".")
    kind = _KINDS.get(owner, "")
    return kind if kind != "gradient scaler" or name == "GradScaler" else ""


def _first_step(facts: ModuleFacts, call: CallEvent) -> CallEvent | None:
    """The first step with it that all ranks make, by gradients that a wrapper averages."""
    averaged = any(True for _ in _backward_passes(facts))
    key = symbol_key(call.receiver) if call.receiver is not None else None
    if key is None or _is_bare(call):
        return None
    steps = (c for c in facts.methods("step") if c.index > call.index and _by_all(c))
    # a gradient scaler is given the optimizer
    given = ((c, value) for c in steps for value in (c.receiver, *c.args[:1]) if value is not None)
    return next((c for c, value in given if symbol_key(value) == key and (averaged or _is_prepared(c))), None)


def _is_prepared(step: CallEvent) -> bool:
    """Whether it is of an optimizer that Accelerate or Fabric has prepared together with the model."""
    return step.receiver is not None and bool(step.receiver.tags & Tag.PREPARED)


def _is_bare(call: CallEvent) -> bool:
    """Whether it is of plain gradient descent, which keeps nothing from step to step."""
    made = call.receiver.object if call.receiver is not None else None
    plain = isinstance(made, Made) and made.path == "torch.optim.SGD" and not made.opaque
    return plain and isinstance(made, Made) and made.argument(2, "momentum") is None


def _sent(facts: ModuleFacts, call: CallEvent, step: CallEvent) -> bool:
    """Whether the other ranks may get the state before they make a step: they load it, or something is broadcast that
    may hold it."""
    rest = ~call.context.mask
    if any(c.context.mask & rest and _is_of_same(c, call) for c in facts.methods("load_state_dict")):
        return True
    sends = facts.concerning(lambda name: "broadcast" in name or "scatter" in name or "object" in name)
    in_one_run = call.context.calls[:1] == step.context.calls[:1]
    return any(
        c.index > call.index
        and not (in_one_run and c.index > step.index)
        and not sent_numbers.are_all(facts, c, call.context.mask)
        and not (call.receiver is not None and received_states.are_left_unused(facts, c, call.receiver, rest))
        for c in sends
    )


def _is_of_same(one: CallEvent, two: CallEvent) -> bool:
    """Whether two methods are of one object."""
    keys = [symbol_key(c.receiver) for c in (one, two) if c.receiver is not None]
    return len(keys) > 1 and keys[0] == keys[1]


def _made_equal(facts: ModuleFacts, call: CallEvent) -> bool:
    """A broadcast comes later, or the other ranks load as well."""
    rest = ~call.context.mask
    if any("broadcast" in c.path and c.index > call.index for c in facts.calls):
        return True
    return any(
        c is not call and c.context.mask & rest
        and (c.context.function is call.context.function or _is_of_same(c, call))
        for c in facts.methods("load_state_dict")
    )  # fmt: skip
