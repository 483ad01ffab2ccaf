"""A state without the wrapper's prefix is loaded into the wrapper

## What it does
Finds `load_state_dict` of a model in DistributedDataParallel, or of one that Accelerate has prepared, that is given
what the same program saves of the network inside.

## Why it harms
The wrapper wants keys that begin with `module.`, and those of the network do not. A run that goes on from its own
checkpoint ends on every rank with "Missing key(s) in state_dict"; with `strict=False` it silently loads nothing and
begins again. On one GPU, where nothing is wrapped, it works.

## Example
```python
model = DDP(net)
torch.save({"model": model.module.state_dict()}, path)
model.load_state_dict(torch.load(path)["model"])
```

## Use instead
```python
model.module.load_state_dict(torch.load(path)["model"])
```

## Fix safety
No automatic fix.

## When it is wrong
When the file that is loaded was made by something else than the `torch.save` that lint sees; a file that is loaded as
a whole, without a key, is not reported. A program that puts the
prefix in front of the keys, or that asks whether the model is wrapped, is not reported. Where one method loads and
another wraps, and nothing shows which is called first, it is a hint.

## References
https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import exclusion, saved_states, turns
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives, frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD177",
    "bare-state-into-wrapper",
    Severity.WARNING,
    advice="load it into the network inside, model.module or what unwrap_model gives",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """States that are loaded into a wrapper under the key under which those of networks are saved."""
    loads = [c for c in facts.methods("load_state_dict") if _is_whole(facts, c) and not _chooses(facts, c)]
    if not loads or heuristics.ADDS_PREFIX.found_in_any(facts.texts):
        return
    bare, wrapped = saved_states.by_key(facts)
    alike: dict[tuple[str, SourceSite], list[CallEvent]] = {}
    for call in loads:
        key = saved_states.key_of(call)
        if key and key not in wrapped and key in bare and not _is_wrapped_later(facts, call):
            alike.setdefault((_where(facts, call), bare[key].site), []).append(call)
    for (condition, saved), calls in alike.items():
        first, *others = calls
        more = tuple((other.site, "and here") for other in others if other.site != first.site)
        message = Conditional(
            condition,
            "the wrapper wants keys that begin with `module.`, and those of the state that is saved do not: load it "
            "into the network inside",
        )
        related = ((saved, "saved without the prefix"), *dict.fromkeys(more))
        severity = Severity.HINT if condition == _LATER else None
        yield facts.finding(RULE, first.site, message, related=related, context=first.context, severity=severity)


def _where(facts: ModuleFacts, call: CallEvent) -> str:
    """The circumstance in which a load is of a state without the prefix, "" if it is in any."""
    if _may_be_wrapped_later(facts, call):
        return _LATER
    return "" if call.receiver is None or call.receiver.tags & Tag.WRAPPED else _BY_FRAMEWORK


_BY_FRAMEWORK = "where the framework wraps this network in DistributedDataParallel, "
_LATER = "if the network has been wrapped when this is called, "


def _may_be_wrapped_later(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether another method wraps the network, and nothing shows which of both is called first."""
    return call.receiver is not None and bool(call.receiver.tags & Tag.MAYBE) and not _beside(facts, call)


def _beside(facts: ModuleFacts, call: CallEvent) -> list[CallEvent]:
    """Where what comes to the call also wraps something."""
    return [one for one in facts.named(*collectives.WRAPPERS) if turns.same_root(one.context, call.context)]


def _is_wrapped_later(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether what comes to the call wraps networks, and only after it."""
    beside = _beside(facts, call)
    return bool(beside) and all(one.index > call.index for one in beside)


def _is_whole(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a state is loaded into torch's wrapper, or where Accelerate may have put one."""
    model = call.receiver
    if model is None or model.tags & (Tag.INNER | Tag.SHARDED):
        return False
    return wrapping.is_wrapped(model) or bool(model.tags & Tag.PREPARED and facts.named(frameworks.ACCELERATOR))


def _chooses(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it happens only where the model is not wrapped, or another way is tried if it fails."""
    guards = call.context.guards
    if call.context.handler or heuristics.ASKS_WHETHER_WRAPPED.found_in_any(guard.text for guard in guards):
        return True
    wrapped = facts.named(*collectives.WRAPPERS)
    return any(exclusion.contradict((*guards, *one.context.guards)) for one in wrapped)
