"""Forward pass through DDP on some ranks only

## What it does
Finds a forward pass of a model in DistributedDataParallel or FSDP that only some ranks run, usually an evaluation on
rank 0. In a trainer of transformers or a callback of it, it finds those of the model that is trained, such as
`model.generate(...)` under `state.is_world_process_zero`: a hint, and a warning where the program is started with a
configuration of DeepSpeed of ZeRO stage 3, or with FSDP.

## Why it hangs
A forward pass through the wrapper can communicate: FSDP, and ZeRO stage 3, gather parameters in every forward; DDP
broadcasts buffers (running statistics of batch norm) and rebuilds its buckets. The other ranks do not take part, or
take part with whatever collective they run next.

## Example
```python
if rank == 0:
    score = evaluate(ddp_model, loader)
dist.barrier()
```

## Use instead
```python
if rank == 0:
    score = evaluate(ddp_model.module, loader)
dist.barrier()
```

## Fix safety
Unsafe: `.module` is added. That is right for DDP; an FSDP model must be evaluated on all ranks.

## When it is wrong
Under `no_grad`, DDP broadcasts buffers once, and the other ranks match it at their next forward pass through the model.
That is reported only if the model has buffers and another collective comes first, or the end of the program. With
gradients enabled, a model that is never trained afterwards may work, and one whose classes are in sight and make no
buffers communicates only until its buckets are rebuilt, in the second step: that is a hint, and so is a model under
`no_grad` of which only other code in the program's files says that it has buffers. Ranks that are the only ones to wrap
or to train the model are no evaluation on one rank, and not reported. A model that is in FSDP only under a condition is
a warning.

## References
https://github.com/pytorch/pytorch/issues/59666
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import handed_functions, networks, proofs, trained_models
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter import fsdp, wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, collectives, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import EVERY_RANK
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, RelatedRole, Severity
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD164",
    "rank0-forward-through-ddp",
    Severity.WARNING,
    ("DD205",),
    advice="evaluate model.module on one rank, or the wrapped model on all",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Forward passes through a wrapper on a part of the ranks."""
    yield from _of_trainers(facts)
    for call in facts.methods("__call__"):
        if not call.context.some_ranks_only or _elsewhere_too(facts, call):
            continue
        if call.receiver is not None and fsdp.is_sharded(facts.analysis, call.receiver):
            message = (
                "an FSDP model gathers its parameters in every forward pass, and only some ranks get here: "
                "run it on all ranks"
            )
            sure = _surely_sharded(facts, call)
            yield facts.finding(
                RULE,
                call.site,
                message if sure else Conditional("where the model is sharded, ", message),
                severity=Severity.ERROR if sure else Severity.WARNING,
                context=call.context,
            )
        elif wrapping.is_wrapped(call.receiver) and (not call.context.no_grad or _out_of_step(facts, call)):
            if _own_model(facts, call):
                continue
            message = (
                "only some ranks run this forward pass through DistributedDataParallel, which may broadcast buffers "
                "or rebuild buckets: call `.module` here"
            )
            known = _buffers(facts, call)
            idle = known is False or (known is None and call.context.no_grad)
            handed = _handed_on(facts, call)
            severity = Severity.HINT if idle or handed else Severity.WARNING
            said = Conditional(proofs.worded_handed(handed), message) if handed else message
            fix = _fix(facts, call) if not handed else None
            yield facts.finding(RULE, call.site, said, fix=fix, context=call.context, severity=severity)


def _handed_on(facts: ModuleFacts, call: CallEvent) -> str:
    """The function on the way to it that something is handed beside the condition on the rank, which may call it on the
    other ranks: the agent of a sweep."""
    way = (*call.context.chain, call.site)
    told = (handed_functions.handed_on(facts, g.site, way) for g in call.context.guards if len(g.truth) > 1)
    return next(filter(None, told), "")


def _of_trainers(facts: ModuleFacts) -> Iterator[Finding | None]:
    """The same of the model that a trainer of transformers trains, which its settings may shard."""
    for call in trained_models.run_on_some_ranks(facts):
        open_ = Unconfirmed(call.site, RelatedRole.UNSTARTED)
        said = Conditional(_IF_SHARDED, _GATHERS)
        yield facts.finding(RULE, call.site, said, context=call.context, severity=Severity.HINT, unconfirmed=open_)


_IF_SHARDED = "where ZeRO stage 3 or FSDP shards the model, "
_GATHERS = "each forward pass gathers its parameters from all ranks, and only some ranks get here: run it on all ranks"


def _surely_sharded(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the model is known, and sharded under no condition that does not hold here as well."""
    model = call.receiver
    if model is None or (model.object is None and not fsdp.is_sharded_in_place(facts.analysis, model)):
        return False
    holds = {(guard.truth, guard.side) for guard in call.context.guards}
    made = facts.named(aliases.FSDP, *fsdp.SHARDING)
    certain = any(all((g.truth, g.side) in holds for g in c.context.guards if len(g.truth) == 1) for c in made)
    return certain and not model.tags & Tag.MAYBE


def _own_model(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether no other rank wraps the model, so that it is theirs alone: what hangs is the wrapping, not this."""
    obj = call.receiver.object if call.receiver is not None else None
    if not isinstance(obj, Made):
        return False
    wraps = [made for made in facts.named(*collectives.WRAPPERS) if made.site == obj.site]
    return bool(wraps) and not any(made.context.mask & ~call.context.mask for made in wraps)


def _elsewhere_too(facts: ModuleFacts, call: CallEvent) -> bool:
    """The other ranks run the same model in a branch of their own."""
    rest = EVERY_RANK & ~call.context.mask
    return any(
        other is not call and other.context.function is call.context.function and other.context.some_ranks_only
        and other.receiver == call.receiver and other.context.mask & rest
        for other in facts.methods("__call__")
    )  # fmt: skip


def _out_of_step(facts: ModuleFacts, call: CallEvent) -> bool:
    """The model has buffers, and what the other ranks run next is another collective, not the model; or the end."""
    if not _has_buffers(facts, call):
        return False
    rest = EVERY_RANK & ~call.context.mask
    for later in facts.calls[call.index + 1 :]:
        if not later.context.mask & rest:
            continue
        if later.method == "__call__" and wrapping.is_wrapped(later.receiver):
            return False
        spec = collectives.COLLECTIVES.get(later.path)
        if spec is not None and not spec.pairwise:
            return True
    return call.context.from_script and _trained_before(facts, call, rest)


def _trained_before(facts: ModuleFacts, call: CallEvent, rest: int) -> bool:
    """Whether the other ranks have trained the model and do not come to it again in a loop around this place."""
    around = {id(loop.node) for loop in call.context.loops}
    forward = [
        other for other in facts.methods("__call__")
        if other.index < call.index and other.context.mask & rest and wrapping.is_wrapped(other.receiver)
    ]  # fmt: skip
    again = any(id(loop.node) in around for other in forward for loop in other.context.loops)
    return not again and any(not other.context.no_grad for other in forward)


def _has_buffers(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the model has buffers, as far as the source shows; where it does not, whether the files speak of any."""
    known = _buffers(facts, call)
    return facts.suggests(heuristics.HAS_BUFFERS) if known is None else known


def _buffers(facts: ModuleFacts, call: CallEvent) -> bool | None:
    """Whether the model has buffers that are broadcast: batch norm, as the source of its classes shows, or models of
    torchvision that are known to have it; None if the source does not show it."""
    obj = call.receiver.object if call.receiver is not None else None
    network = obj.argument(0, "module") if isinstance(obj, Made) else None
    if isinstance(obj, Made) and any(
        v is not None and v.constant is False
        for v in (obj.keyword("broadcast_buffers"), obj.keyword("forward_sync_buffers"))
    ):
        return False
    made = network.object if network is not None else None
    if isinstance(made, Made) and made.path.startswith("torchvision.models."):
        return made.path.rpartition(".")[2].startswith(("resnet", "resnext", "wide_resnet", "mobilenet", "densenet"))
    known = networks.has_buffers(facts.analysis, network) if network is not None else None
    return True if known is None and facts.named(_CONVERTS) else known


#: who converts the batch norm of a network knows of some
_CONVERTS = "torch.nn.SyncBatchNorm.convert_sync_batchnorm"


def _fix(facts: ModuleFacts, call: CallEvent) -> Fix | None:
    if call.site.file != facts.module.path:
        return None
    at = site_of(facts.module, call.node.func)
    edit = Edit(at.end_line, at.end_column, at.end_line, at.end_column, ".module")
    return Fix(Applicability.UNSAFE, (edit,))
