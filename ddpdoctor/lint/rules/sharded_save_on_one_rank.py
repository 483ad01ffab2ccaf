"""Sharded state is saved on one rank

## What it does
Finds checkpoints of a sharded model that only some ranks write: `state_dict()` of an FSDP model, `full_tensor()`,
`torch.distributed.checkpoint`, `save_checkpoint` and `_zero3_consolidated_16bit_state_dict` of DeepSpeed,
`save_checkpoint` of Lightning, `save_state` of Accelerate, under `rank == 0`. And `state_dict()` of a
`ZeroRedundancyOptimizer`, in a program that never calls its `consolidate_state_dict()`: it raises an error.

## Why it hangs
The parameters are distributed over all ranks. Saving gathers them, or waits until every rank has written its part; the
ranks outside the branch never take part. `state_dict()` of a model that `fully_shard` has sharded gathers nothing:
`torch.save` on one rank writes the shards of this rank, and the others are lost.

## Example
```python
if rank == 0:
    torch.save(fsdp_model.state_dict(), "last.pt")
```

## Use instead
```python
state = fsdp_model.state_dict()
if rank == 0:
    torch.save(state, "last.pt")
```

## Fix safety
No automatic fix.

## When it is wrong
`save_state` and `save_model` of Accelerate and the Hugging Face trainer gather nothing from a model that is not
sharded: they are warnings where the program offers FSDP or DeepSpeed, hints elsewhere and where the repository's
configurations of DeepSpeed have no stage 3 (those that the program names or that lie beside it, if there are any), and
are not reported if the condition tests the kind of sharding. Where commands start a program with `accelerate launch`,
it is a hint if all of them say `--multi_gpu` or name a file that shards nothing, or if only other programs are started
with what shards. `save_16bit_model` of DeepSpeed is a hint where no configuration has stage 3. `save_checkpoint` of
`pytorch_lightning` ends in a barrier since Lightning 2: it is a warning, and a hint where a text of the repository asks
for an older one. An operation under a condition that nothing decides is a warning, and so is a proof of what the
scripts and texts of the repository start as one process only.

## References
https://docs.pytorch.org/docs/stable/fsdp.html
https://www.deepspeed.ai/getting-started/#model-checkpointing
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import proofs
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter import framework_objects, fsdp
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives, frameworks, heuristics
from ddpdoctor.lint.ranks.divergence import place, proof
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD175",
    "sharded-save-on-one-rank",
    Severity.ERROR,
    ("DD204", "DD203"),
    advice="gather the state on all ranks, and write the file on one",
)

#: collective under FSDP and DeepSpeed only
_MAYBE = {
    "accelerate.Accelerator": ("save_state", "save_model", "get_state_dict"),
    "transformers.Trainer": ("save_model",),
}
_STATES = tuple(
    f"torch.distributed.checkpoint.state_dict.{name}"
    for name in ("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict")
)

_ZERO = "torch.distributed.optim.ZeroRedundancyOptimizer"

#: all ranks have to reach it under every strategy: it ends in a barrier (lightning 2.6, Trainer.save_checkpoint)
_LIGHTNING = "save_checkpoint (Lightning)"

#: gathers the weights under ZeRO stage 3; below it, they are whole on the rank that writes them, and no other is needed
_OF_STAGE_3 = frozenset({"save_16bit_model (DeepSpeed)"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences at an operation that saves; and calls that gather if the model is sharded."""
    yield from _divergent(facts)
    yield from _partial(facts)
    yield from _unconsolidated(facts)
    # without full_state_dict, and without FSDP, each rank takes what it has
    if facts.suggests(heuristics.GATHERS_FULL_STATE) and facts.suggests(heuristics.SHARDS):
        yield from _gathering(facts)
    if not _replaced(facts):
        yield from _of_frameworks(facts)


def _divergent(facts: ModuleFacts) -> Iterator[Finding | None]:
    for item in facts.divergences:
        if item.local or item.exit is not None or item.mismatched or item.op.op not in collectives.SAVING:
            continue
        what = (
            "it ends in a barrier of all ranks" if item.op.op == _LIGHTNING else "every rank holds a part of this state"
        )
        said = proofs.worded(facts, item, f"{what}, and only some reach {item.op.op}: {proof(item)}")
        sure = item.op.op != _LIGHTNING or _is_new_lightning(facts)
        message = said if sure else Conditional("where Lightning is 2.0 or newer, ", said.condition + said.message)
        open_ = not sure or item.op.op in _OF_STAGE_3
        asked = Unconfirmed(item.op.site, RelatedRole.UNSTARTED) if open_ else None
        related = [(item.branch.site, f"the branch: {shown(item.branch.text)}")]
        if item.chain:
            related.append((item.op.site, f"{item.op.op} is called here"))
        severity = proofs.severity(facts, item)
        if severity is None:
            continue
        severity = severity if sure else Severity.WARNING
        yield facts.parting(
            *(RULE, item, place(item), message), related=tuple(related), severity=severity, unconfirmed=asked
        )


def _is_new_lightning(facts: ModuleFacts) -> bool:
    """Whether the file imports the package of Lightning 2; that of version 1, `pytorch_lightning`, may be either."""
    return any(target.partition(".")[0] == "lightning" for target in facts.module.imports.values())


def _partial(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Files that get the shards of one rank."""
    for call in facts.named("torch.save"):
        shards = bool(call.args) and fsdp.holds_shards(facts.analysis, call.args[0])
        if shards and _on_some(facts, call):
            message = "this writes the shards of these ranks alone: gather the full state on all ranks first"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _unconsolidated(facts: ModuleFacts) -> Iterator[Finding | None]:
    """States of an optimizer that is sharded, which no rank has gathered."""
    if facts.mentions("consolidate_state_dict"):
        return
    for call in facts.methods("state_dict"):
        obj = call.receiver.object if call.receiver is not None else None
        if isinstance(obj, Made) and obj.path == _ZERO:
            message = "no rank has gathered this state, so it raises: call consolidate_state_dict on all ranks first"
            yield facts.finding(RULE, call.site, message, severity=Severity.WARNING, context=call.context)


def _gathering(facts: ModuleFacts) -> Iterator[Finding | None]:
    parted = {item.op.site for item in facts.divergences}
    for call in facts.named(*_STATES):
        if call.site not in parted and _on_some(facts, call) and not _made_there(call):
            message = f"{call.path.rpartition('.')[2]} gathers sharded parameters: call it on all ranks"
            yield facts.finding(RULE, call.site, message, severity=Severity.WARNING, context=call.context)


def _of_frameworks(facts: ModuleFacts) -> Iterator[Finding | None]:
    for path, names in _MAYBE.items():
        for call in facts.methods(*names):
            if _of(facts, call, path) and _on_some(facts, call):
                message = f"under FSDP or ZeRO stage 3, {call.method} gathers the model: call it on all ranks"
                offers = facts.suggests(heuristics.OFFERS_SHARDING)
                yield facts.finding(
                    *(RULE, call.site, message),
                    severity=Severity.WARNING if offers else Severity.HINT,
                    context=call.context,
                    unconfirmed=Unconfirmed(call.site, RelatedRole.UNSTARTED) if offers else None,
                )


def _made_there(call: CallEvent) -> bool:
    """The model is created after the branch, in a function that only these ranks call: it is not sharded."""
    obj = call.args[0].object if call.args else None
    made = obj.site if isinstance(obj, (Made, Instance)) else None
    choices = [g.site for g in call.context.guards if len(g.truth) > 1]
    if made is None or any(site.file == made.file and made.line < site.line for site in choices):
        return False
    return any(s.file == made.file and s.line > made.line for s in (*call.context.chain[1:], call.site))


def _replaced(facts: ModuleFacts) -> bool:
    """`accelerator.get_state_dict = ...`: what gathers is taken out, the state was gathered before."""
    return any(name == "get_state_dict" for _, name in facts.module.attribute_stores)


def _of(facts: ModuleFacts, call: CallEvent, path: str) -> bool:
    obj = call.receiver.object if call.receiver is not None else None
    if isinstance(obj, Instance):
        return path in framework_objects.bases(facts.analysis, obj.info)
    return isinstance(obj, Made) and frameworks.kind(obj.path) == path


def _on_some(facts: ModuleFacts, call: CallEvent) -> bool:
    """Only some ranks call it, there or elsewhere in the function."""
    return call.context.some_ranks_only and not _complement(facts, call)


def _complement(facts: ModuleFacts, call: CallEvent) -> bool:
    """The other ranks call it too, elsewhere in the function."""
    return any(
        other.context.function is call.context.function and other.context.mask & ~call.context.mask
        for other in (facts.methods(call.method) if call.method else facts.named(call.path))
    )
