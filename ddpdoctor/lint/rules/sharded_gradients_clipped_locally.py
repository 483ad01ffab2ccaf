"""Gradients of a sharded model are clipped by each rank's own norm

## What it does
Finds `torch.nn.utils.clip_grad_norm_` on the parameters of a model that is wrapped in `FullyShardedDataParallel`, by
the program or by Lightning's FSDPStrategy; and of one that Lightning's DeepSpeedStrategy has taken, where it clips
nothing. And a share of the gradients that `reduce_scatter` has left a rank, which is clipped by the norm of that share;
and gradients in distributed tensors, as `fully_shard` makes them, that are clipped by hand, by the norm of what
`p.grad.to_local()` gives.

## Why it harms
Each rank has a shard of the gradients, and the function measures that shard alone. The ranks scale their shards by
different factors, none of which is that of the whole gradient: the direction of the step is wrong, and the norm that is
logged is too small. Nothing hangs, and nothing is reported.

## Example
```python
model = FullyShardedDataParallel(net)
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
```

## Use instead
```python
model.clip_grad_norm_(1.0)
```

or `fabric.clip_gradients(model, optimizer, max_norm=1.0)`; with DeepSpeed `gradient_clipping` in its configuration.
With shares of one's own, and with what `to_local()` gives, `all_reduce` the sum of the squares before its root is
taken.

## Fix safety
No automatic fix.

## When it is wrong
Where the strategy is `NO_SHARD` each rank has all gradients: a strategy that cannot be read makes the finding
conditional, `NO_SHARD` silences it. Parameters that `fully_shard` distributes are tensors of their own kind, whose norm
is that of all ranks: this function is right for them, and they are not reported. What `to_local()` gives is whole where
the tensor is replicated. Where the shares are parameters of their own, each of which is to be clipped by itself, it is
right. Nothing is reported where a function that is not in sight is given the norm before the gradients are scaled.

## References
https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import clipped_parts, clipped_shares
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects, fsdp, wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import External, Instance, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD168",
    "sharded-gradients-clipped-locally",
    Severity.ERROR,
    advice="call the model's own clip_grad_norm_, or the framework's method, on all ranks",
)

_LOCALLY = "each rank clips its shard of the gradients by the norm of this shard alone, not of the whole"
_PARTS = (
    "each rank clips its parts of the gradients by the norm of these parts alone: all_reduce the sum of the squares "
    "before its root is taken"
)
_UNLESS_REPLICATED = "unless each rank has the whole of these tensors, "
_NOTHING = "this clips nothing: DeepSpeed has taken the gradients; set gradient_clipping in its configuration"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Norms of the shards of one rank."""
    for one in clipped_shares.found(facts):
        related = ((one.scattered.site, "each rank gets its share here"), (one.norm, "the norm of the share"))
        yield facts.finding(
            RULE, one.scaled, _LOCALLY, related=related, context=one.scattered.context, severity=Severity.WARNING
        )
    for part in clipped_parts.found(facts):
        related = ((part.call.site, "this rank's part of a gradient"), (part.norm, "the norm of its parts"))
        message = Conditional(_UNLESS_REPLICATED, _PARTS)
        yield facts.finding(
            RULE, part.scaled, message, related=related, context=part.call.context, severity=Severity.WARNING
        )
    for call in facts.named(*fsdp.NORMS):
        model = fsdp.parameters_of(call.args[0]) if call.args else None
        if model is None or fsdp.is_sharded_in_place(facts.analysis, model):
            continue
        if wrapping.is_fsdp(model):
            assert isinstance(model.object, Made)
            yield _told(facts, call, model.object, model.object.argument(2, "sharding_strategy"))
        else:
            yield _by_strategy(facts, call, model)


def _told(facts: ModuleFacts, call: CallEvent, made: Made, given: Value | None) -> Finding | None:
    """A finding, if gradients are in shards; `made` puts them there by the strategy that it is given."""
    name = _name(made, given)
    if name == "NO_SHARD":
        return None
    unsure = "unless the strategy is NO_SHARD, " if not name else ""
    return facts.finding(
        *(RULE, call.site, Conditional(unsure, _LOCALLY)),
        related=((made.site, "wrapped here"),),
        context=call.context,
        severity=Severity.WARNING if unsure else None,
    )


def _name(made: Made, given: Value | None) -> str:
    """The name of the sharding strategy, "" if it is not known."""
    if given is None:
        return "" if made.opaque else "FULL_SHARD"
    if isinstance(given.constant, str):
        return given.constant
    return given.object.path.rpartition(".")[2] if isinstance(given.object, External) else ""


def _by_strategy(facts: ModuleFacts, call: CallEvent, model: Value) -> Finding | None:
    """A finding about a model that a framework has put into the wrapper of its strategy."""
    taken = next((c for c in facts.methods("setup", "setup_module", "fit") if _takes(c, model)), None)
    trainer = taken.receiver.object if taken is not None and taken.receiver is not None else None
    strategy = trainer.argument(1, "strategy") if isinstance(trainer, Made) else None
    if taken is None or strategy is None or not isinstance(trainer, Made) or framework_objects.one_process(trainer):
        return None
    kind, made = _kind(strategy), strategy.object
    perhaps = f"where the strategy is {frameworks.SHARDING_STRATEGIES.get(kind)}, " if strategy.tags & Tag.MAYBE else ""
    sharding = made.keyword("sharding_strategy") if isinstance(made, Made) else None
    name = _name(made, sharding) if isinstance(made, Made) else "FULL_SHARD"
    if not kind or (kind == "fsdp" and name == "NO_SHARD"):
        return None
    unsure = perhaps or ("unless the strategy is NO_SHARD, " if kind == "fsdp" and not name else "")
    return facts.finding(
        *(RULE, call.site, Conditional(unsure, _LOCALLY if kind == "fsdp" else _NOTHING)),
        related=((taken.site, "the model is wrapped here"), (trainer.site, "by this strategy")),
        context=call.context,
        severity=Severity.WARNING,
    )


def _takes(call: CallEvent, model: Value) -> bool:
    """Whether a framework takes this model, or, of a module with hooks, one of its class."""
    made = call.receiver.object if call.receiver is not None else None
    if not isinstance(made, Made) or (frameworks.kind(made.path), call.method) not in frameworks.TAKING_MODEL:
        return False
    key = symbol_key(model)
    if key is not None and any(symbol_key(value) == key for value in call.args):
        return True
    given, own = call.args[0].object if call.args else None, model.object
    hooked = call.method == "fit" and isinstance(given, Instance) and isinstance(own, Instance)
    return hooked and isinstance(given, Instance) and isinstance(own, Instance) and given.info is own.info


def _kind(strategy: Value) -> str:
    """Which of the sharding strategies it is, "" for any other."""
    text = strategy.constant if isinstance(strategy.constant, str) else ""
    name = strategy.object.path.rpartition(".")[2] if isinstance(strategy.object, Made) else ""
    return next((k for k, end in frameworks.SHARDING_STRATEGIES.items() if text.startswith(k) or name == end), "")
