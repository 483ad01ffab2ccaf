"""A rank leaves a loop with collectives because of its own data

## What it does
Finds `break`, `continue` and `return` in a loop with collectives (a DDP backward is one) whose condition depends on
data of one rank: its batch, its loss, what it has sampled, a sum that `reduce` gave to one rank alone, its part of one
by `reduce_scatter`, its clock, an object that was given these (an early stopper), or a flag set by a signal; and the
flags by which Lightning and the Trainer of Hugging Face end their loops (`trainer.should_stop`,
`control.should_training_stop`), set on such a condition or on some ranks only. So is a method by which a hook asks its
trainer to stop, where the project's class of that name keeps it in an attribute which ends its loop of backward passes.
A `for` over something that one rank has more of (rows selected by a mask, entries that only some batches have) is
reported as well, and `next(batches)` on some ranks only inside of a loop that goes through the same iterator.
In `with Join([...])` and `with model.join()`, which are for ranks with different numbers of batches, a collective other
than those of the models and optimizers that join is a warning. So is a loop of forward passes of DeepSpeed's engine
that each rank leaves once its own texts have ended, where the program is started with a configuration of ZeRO stage 3.

## Why it hangs
On another rank the data leads to another decision: that rank starts another iteration and waits in the next collective.
Of a rank that has run out of batches, `Join` answers the collectives of what joins, and only once it has left the
block. It answers no other, and a barrier at the end of the block keeps the rank from leaving it.

## Example
```python
for batch in loader:
    loss = model(batch).mean()
    if torch.isnan(loss):
        continue
    loss.backward()
```

## Use instead
```python
for batch in loader:
    loss = model(batch).mean()
    bad = torch.isnan(loss).float()
    dist.all_reduce(bad, op=dist.ReduceOp.MAX)
    if bad.item():
        continue
    loss.backward()
```

## Fix safety
No automatic fix: the author must choose the decision that all ranks take together.

## When it is wrong
Only data that provably differs counts; what one rank alone has changed, a counter of bad epochs, say, is a warning,
unless the ranks run a collective by which one tells the others. Whether there is any data at all is a hint; a batch
that is None is a warning where the program's own `collate_fn` gives None. A flag that went through a collective is the
same everywhere and is not reported; nor is one computed by a function that could not be seen, but for a loss from which
the rank then goes backward (a warning: the function may gather what all ranks computed); nor the loss of an evaluation
that every rank repeats over all of the data. Where a flag or an option is such that no model is wrapped, nothing is
said of backward passes. Blocks of `Join` with `enable` or `throw_on_early_termination` are not reported.

## References
https://docs.pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ddpdoctor.lint.facts import asked_to_stop, batches_taken, engine_loops, proofs
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.trace import QUIT
from ddpdoctor.lint.knowledge import aliases, collectives, frameworks
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence, left_at, proof
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.values import Taint
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD113",
    "rank-local-loop-exit",
    Severity.ERROR,
    ("DD201", "DD202", "DD206", "DD207", "DD211", "DD216", "DD221"),
    advice="let all ranks decide together: reduce the condition, then leave or skip on all of them",
)


def _stopped(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Flags by which each rank ends the loop that a framework runs."""
    own = facts.module.imports.values()
    if not any(path.startswith(("lightning", "pytorch_lightning", "transformers")) for path in own):
        return
    told: set[SourceSite] = set()
    for stop in facts.analysis.stops:
        local = next((g for g in stop.context.guards if g.value.taint is Taint.RANK_LOCAL and len(g.truth) == 1), None)
        if stop.value.constant is not True or not (local is not None or stop.context.some_ranks_only):
            continue
        # flags that are set under one condition, as transformers has one for the epoch and one for all of them
        decided = local.site if local is not None else stop.site
        if decided in told:
            continue
        told.add(decided)
        who = "each rank sets this flag on its own" if local is not None else "only some ranks set this flag"
        together = frameworks.STOPPING[stop.name]
        said = f"{who}, and the loops of the others go on: let all decide" + (f" ({together})" if together else "")
        related = ((local.site, f"the condition: {shown(local.text)}"),) if local is not None else ()
        yield facts.finding(RULE, stop.site, said, related=related, context=stop.context)


#: the context managers by which a rank that has run out of batches answers the others
_JOINS = frozenset({"Join", "join"})
#: options by which no rank joins, or all stop as soon as one has no more
_TOGETHER = frozenset({"enable", "throw_on_early_termination"})
_C10D = "torch.distributed."


def _joining(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives in a block in which ranks may run out of batches, other than those of what joins."""
    blocks = [block for block in map(_joined_by, facts.module.of(ast.With)) if block is not None]
    if not blocks or facts.alone:
        return
    found: dict[ast.With, dict[SourceSite, str]] = {}
    for call in facts.calls:
        spec = collectives.COLLECTIVES.get(call.path) if call.path.startswith(_C10D) else None
        if spec is None or spec.pairwise or spec.op in ("init_process_group", "new_group"):
            continue
        if _JOINS.isdisjoint(call.context.withs) or call.context.some_ranks_only:
            continue
        block, place = _block_of(facts, call, blocks)
        if block is not None and place is not None:
            found.setdefault(block, {}).setdefault(place, spec.op)
    yield from (_told_once(facts, inside) for inside in found.values())


def _told_once(facts: ModuleFacts, inside: dict[SourceSite, str]) -> Finding | None:
    """The collectives of one block, which are one fault, at the first of them."""
    (first, op), *others = inside.items()
    message = (
        f"a rank that has no more batches waits in {op} or leaves this block without it, and Join answers for it only "
        "the collectives of what joins: run it behind the block"
    )
    more = f" (and {len(others)} more of this block)" if others else ""
    related = tuple((place, f"{other}, in the same block") for place, other in others)
    return facts.finding(RULE, first, message + more, related=related, severity=Severity.WARNING)


def _joined_by(block: ast.With) -> ast.With | None:
    """The block, if it is one of `Join` in which ranks may run out of batches."""
    made = [item.context_expr for item in block.items if isinstance(item.context_expr, ast.Call)]
    joins = [call for call in made if last_name(call.func) in _JOINS]
    return block if joins and not any(k.arg in _TOGETHER for call in joins for k in call.keywords) else None


def _block_of(facts: ModuleFacts, call: CallEvent, blocks: list[ast.With]) -> tuple[ast.With | None, SourceSite | None]:
    """The block that leads to a call, and where it does."""
    for site in (*call.context.chain, call.site):
        around = (b for b in blocks if b.body[0].lineno <= site.line <= (b.body[-1].end_lineno or 0))
        block = next(around, None) if site.file == facts.module.path else None
        if block is not None:
            return block, site
    return None, None


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences through a loop's exit on rank-local data, the loop of a framework included."""
    yield from _stopped(facts)
    yield from _joining(facts)
    yield from _of_engines(facts)
    yield from _asked(facts)
    yield from _taken(facts)
    for item in facts.divergences:
        if not item.local or item.exit is None or not (item.looped or item.exit.kind in ("break", "continue", QUIT)):
            continue
        here = left_at(item, item.exit)
        said = f"each rank decides this on its own, and {item.op.op} needs all of them: {proof(item)}"
        message = proofs.worded(facts, item, said)
        severity = proofs.severity(facts, item)
        if severity is None:
            continue
        if severity is Severity.ERROR and _gathers_once(facts, item):
            severity, message = Severity.WARNING, Conditional(_UNLESS_WHOLE, said)
        related = (
            (item.op.site, f"{item.op.op} waits for the ranks that left"),
            (item.branch.site, f"the condition: {shown(item.branch.text)}"),
        )
        yield facts.parting(RULE, item, here, message, related=related, severity=severity)


#: only the program's configuration and the way it is started show it
_IF_SHARDED = "where ZeRO stage 3 shards the model, "


def _of_engines(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loops of forward passes of DeepSpeed's engine."""
    for left in () if facts.alone else engine_loops.left_by_own_data(facts):
        said = (
            "each rank decides this on its own, and each forward pass gathers the parameters from all ranks: those "
            "that go on wait there for the one that has left"
        )
        guard = left.branch.guard
        related = (
            (left.forward.site, "a forward pass in each turn"),
            (guard.site, f"the condition: {shown(guard.text)}"),
        )
        open_ = Unconfirmed(left.site, RelatedRole.UNREACHED)
        yield facts.finding(
            *(RULE, left.site, Conditional(_IF_SHARDED, said)),
            related=related, severity=Severity.HINT, context=left.branch.context, unconfirmed=open_,
        )  # fmt: skip


_UNLESS_ENDLESS = "unless what the loop goes through has no end, "


def _taken(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loops that have fewer turns on some ranks, as those take batches out of them."""
    for taken in batches_taken.by_some_ranks(facts):
        said = (
            "only some ranks take a batch here out of what the loop goes through, and have fewer turns in it than the "
            f"others, which wait for them in {taken.waiting.op}: use the batch of the loop, or a loader apart"
        )
        related = ((taken.loop.site, "the loop"), (taken.waiting.site, f"{taken.waiting.op} in each turn"))
        sure = taken.of_loader
        message, severity = (said, Severity.ERROR) if sure else (Conditional(_UNLESS_ENDLESS, said), Severity.WARNING)
        yield facts.finding(
            *(RULE, taken.call.site, message), related=related, context=taken.call.context, severity=severity
        )


def _asked(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Objects of other files that each rank asks to stop: what only the project's classes confirm."""
    for call, guard in asked_to_stop.by_own_data(facts):
        yield facts.finding(
            RULE,
            call.site,
            f"each rank calls {call.method} on its own, which ends the loop here, and the backward passes of the "
            "others wait for it: let all decide together",
            related=((guard.site, f"the condition: {shown(guard.text)}"),),
            severity=Severity.HINT,
            context=call.context,
            unconfirmed=Unconfirmed(call.site, RelatedRole.UNREACHED),
        )


#: what FSDP has sharded as a whole keeps its parameters after a forward pass, until the next step (torch 2.13)
_UNLESS_WHOLE = "unless the model is sharded as a whole alone, which gathers in the first forward pass only, "
#: what may stand in a sequence beside its operations
_SHAPE = frozenset({"loop", "break", "continue", "return", ""})


def _gathers_once(facts: ModuleFacts, item: CollectiveDivergence) -> bool:
    """Whether the loop has forward passes of a sharded model alone, of which nothing shows that parts are sharded."""
    rest = " ".join(item.trace_runs).replace(fsdp.FORWARD, "")
    if item.op.op != fsdp.FORWARD or not _SHAPE.issuperset(re.findall(r"\w+", rest)):
        return False
    shards = facts.named(aliases.FSDP, *fsdp.SHARDING)
    parts = any(call.context.loops or call.keyword("auto_wrap_policy") is not None for call in shards)
    return not parts and len(shards) < 2
