"""Each rank starts with its own weights

## What it does
Finds a model that is created after the generator was seeded by rank, in a file that averages gradients by hand (or
shards with FSDP within groups) and never makes the weights equal. Also finds an average of the weights (EMA) that
begins with a copy of such a model before DDP wraps it, and a teacher whose answers the model is trained by: DDP makes
the model equal, and not the copy. And layers that the ranks of a tensor-parallel group draw from different seeds: where
the forward pass reduces over one group, and gradients are averaged, and weights sent, over another.

## Why it harms
Averaged gradients keep equal models equal and different models different: every rank trains its own model with the
gradients of the others. Nothing fails, the loss falls slowly, and the saved model is one of several. Averages that
begin apart approach each other slowly; until then, an evaluation on shards mixes several networks.

## Example
```python
torch.manual_seed(seed + rank)
model = Net()
for p in model.parameters():
    dist.all_reduce(p.grad)
```

## Use instead
```python
torch.manual_seed(seed)
model = Net()
torch.manual_seed(seed + rank)
```

## Fix safety
No automatic fix.

## When it is wrong
When a package that cannot be read loads equal weights. DDP sends the weights of rank 0 to all ranks when it wraps a
model, and is not reported; nor are broadcasts of parameters and `load_state_dict`, nor gradients that some of the ranks
share, such as the stages of a pipeline that have one embedding. An average is a hint: what it began
with decays, and what rank 0 saves is its own. One that takes nearly all of the weights in its first steps, or is given
those of the wrapped model, is not reported.

## References
https://docs.pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import averaged_gradients, early_copies, parts_of_one_model, seeds
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter.collective_calls import group_members
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Generator, Use
from ddpdoctor.lint.ranks.order import surely_before
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import External
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import WORLD
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD135",
    "rank-seed-before-unsynced-init",
    Severity.WARNING,
    advice="make the model before seeding by rank, or broadcast its weights",
)

_SEEDERS = randomness.paths(Use.SEEDS, of=Generator.TORCH)
_LAYERS = frozenset({
    "Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LSTM", "GRU", "RNN", "Transformer", "TransformerEncoder",
    "TransformerEncoderLayer", "MultiheadAttention", "ConvTranspose2d", "Bilinear", "EmbeddingBag",
})  # fmt: skip
#: sharding strategies that keep copies of a parameter on several ranks
_COPYING = ("NO_SHARD", "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Weights, and averages of weights, that nothing makes equal."""
    yield from _unsynced(facts)
    yield from _averages(facts)
    yield from _together(facts)


def _averages(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Averages of weights that begin with those of a rank: DDP gives all ranks the weights of rank 0 later."""
    if seeds.by_framework(facts):
        return
    for copy in early_copies.found(facts):
        what = "copy, by which it trains, has" if copy.teaches else "average begins with"
        message = (
            f"each rank's {what} weights of its own, which DDP makes equal only after this: wrap the model first, or "
            "seed by rank after making it"
        )
        related = ((copy.seed.site, "seeded by rank"), (copy.wrapped.site, "the weights are made equal here"))
        # what the average began with decays
        severity = Severity.WARNING if copy.teaches else Severity.HINT
        yield facts.finding(RULE, copy.place, message, related=related, severity=severity)


def _unsynced(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Layers created from a generator seeded by rank, with nothing to make them equal."""
    if facts.named(*DDP_PATHS) or facts.suggests(heuristics.MAKES_EQUAL) or seeds.by_framework(facts):
        return
    averaged = next((c for c in averaged_gradients.calls(facts) if _among_all(c)), None)
    copied = next((c for c in facts.named(aliases.FSDP) if _copies(c)), None)
    reason = averaged or copied
    if reason is None or any(_of_parameter(c) for c in facts.named("torch.distributed.broadcast")):
        return
    seedings = facts.named(*_SEEDERS)
    for layer in (c for c in facts.calls if _is_layer(c)):
        last = _seeded_before(seedings, layer)
        if last is not None and _by_rank(last):
            message = (
                "weights created from here on differ by rank, and nothing makes them equal: first seed with one value"
            )
            note = (
                "gradients are averaged by hand here" if reason is averaged else "copies of the weights are kept here"
            )
            related = ((layer.site, "the first weights"), (reason.site, note))
            yield facts.finding(RULE, last.site, message, related=related)
            return


def _together(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Layers that each rank of a group draws for itself, of a model that they compute together."""
    together = parts_of_one_model.found(facts)
    if together is None or facts.suggests(heuristics.MAKES_EQUAL) or seeds.by_framework(facts):
        return
    seedings = facts.named(*_SEEDERS)
    for layer in (c for c in facts.calls if _is_layer(c) and parts_of_one_model.is_whole(c, together)):
        last = _seeded_before(seedings, layer)
        if last is not None and _by_rank(last) and parts_of_one_model.parts_all(last.args[0]):
            message = (
                "the ranks that compute one model together draw its weights from different seeds here: each has other "
                "layers, where all should have the same"
            )
            related = (
                (layer.site, "a layer that each rank has as a whole"),
                (together.reduced.site, "the ranks compute together here"),
                (together.averaged.site, "gradients are averaged over other ranks"),
            )
            yield facts.finding(RULE, last.site, message, related=related, context=last.context)
            return


def _seeded_before(seedings: list[CallEvent], layer: CallEvent) -> CallEvent | None:
    """What seeded last before a layer is made."""
    before = [c for c in seedings if c.index < layer.index and c.context.calls[:1] == layer.context.calls[:1]]
    last = max(before, key=lambda c: c.index, default=None)
    return last if last is not None and surely_before(last.context, layer.context) else None


def _among_all(call: CallEvent) -> bool:
    """Whether all ranks may take part: what some stages of a pipeline share does not make their weights one model."""
    members = group_members(call.argument(2, "group"))
    return not call.context.some_ranks_only and (not isinstance(members, tuple) or len(members) == WORLD)


def _of_parameter(call: CallEvent) -> bool:
    """A broadcast in a loop: over parameters, or a state dict."""
    return bool(call.context.loops)


def _copies(call: CallEvent) -> bool:
    strategy = call.argument(2, "sharding_strategy")
    obj = strategy.object if strategy is not None else None
    return isinstance(obj, External) and obj.path.endswith(_COPYING)


def _is_layer(call: CallEvent) -> bool:
    return call.path.startswith("torch.nn.") and call.path.rpartition(".")[2] in _LAYERS


def _by_rank(call: CallEvent) -> bool:
    """Surely another seed on every rank."""
    value = call.args[0] if call.args else None
    return (
        value is not None and bool(value.tags & Tag.RANK) and (len(value.atoms) > 1 or value.taint is value.taint.RANK)
    )
