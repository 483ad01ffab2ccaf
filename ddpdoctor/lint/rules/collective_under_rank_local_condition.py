"""Collective under a condition on a rank's own data

## What it does
Finds a collective in a branch whose condition depends on data of one rank: its batch, its loss, its clock; a collective
in a function that `signal.signal` registers, or that one calls which another file registers; a collective for each key
of a dict that is filled with the keys that a rank finds in its own batches, such as a meter for each domain; and a
collective for each parameter that has a gradient (`if p.grad is None: continue`), where a method of the network calls
one of its parts only if the rank's data needs it, such as an expert to which no token was sent, or calls its parts by
the keys of a dict that it is given, and the program makes a dict that has a key only where there is something of the
kind. In the methods of a network, a reduction whose sum is divided by the number of ranks is found where what the
method is given decides whether it runs (`if found.numel() > 0`). It is a warning at most: nothing proves that the data
of the ranks ever differs there.

## Why it hangs
If the condition holds on one rank and not on another, the first waits for the second. A signal handler runs wherever
its rank is when the signal arrives: the ranks stand in different places of the program, and what the handler enters
meets another collective of the others, or none. Set a flag in the handler, and let all ranks decide by it between two
steps. Ranks that have met different keys run a different number of collectives, or the same number in another order.
Gather the keys first, or make the dict with all keys. A part that was not called has no gradient: give it one of zeros
(`p.grad = torch.zeros_like(p)`), so that each rank reduces all.

## Example
```python
for batch in loader:
    loss = model(batch).mean()
    if loss.item() > limit:
        dist.all_reduce(penalty)
```

## Use instead
Decide together: reduce the condition first, and branch on the result.
```python
for batch in loader:
    loss = model(batch).mean()
    high = (loss > limit).float()
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    if high.item():
        dist.all_reduce(penalty)
```

## Fix safety
No automatic fix.

## When it is wrong
When the data is the same on every rank although each rank computes it, for example because all ranks read one fixed
file. Where a loop sorts the keys of a dict, only a key that one rank lacks is wrong: it is a hint where no loader gives
the data, as with a plan that the program makes. A barrier of the first rank and one of all others, in the same
function, are a pair and are not reported. Nothing is said of missing gradients where a file multiplies something by
nought, which a loss does to reach all parameters, or keeps gradients in place (`set_to_none=False`).

## References
https://docs.pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import averages_of_some, keys_of_own_data, missing_gradients, proofs, skipped_parts
from ddpdoctor.lint.facts.barrier_pairs import is_paired
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.facts.run_by_signals import led_to
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.ranks.divergence import place, proof
from ddpdoctor.lint.ranks.reach import Reached
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.signal_handlers import handlers_of
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD114",
    "collective-under-rank-local-condition",
    Severity.WARNING,
    ("DD203", "DD206", "DD207", "DD209", "DD210", "DD212"),
    advice="reduce the condition over the ranks first, and branch on the result",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences at a rank-local condition that are not early exits; what signal handlers run, and loops over keys."""
    yield from _from_signals(facts)
    yield from _per_key(facts)
    yield from _of_missing_gradients(facts)
    yield from _of_averages(facts)
    for item in facts.divergences:
        if not item.local or item.exit is not None or item.op.op == "new_group" or is_paired(facts, item):
            continue
        if item.op.op == fsdp.FORWARD and any(one.call == item.op.site for one in skipped_parts.found(facts)):
            continue  # DD187 tells it
        said = f"each rank decides on its own whether it runs {item.op.op}: {proof(item)}"
        message = proofs.worded(facts, item, said)
        severity = proofs.severity(facts, item)
        if severity is None:
            continue
        related = (
            (item.branch.site, f"the condition: {shown(item.branch.text)}"),
            (item.op.site, f"{item.op.op} runs here"),
        )
        # a condition on data is wrong where the ranks' data says so: no proof that it ever does
        given = Severity.WARNING if severity is Severity.ERROR else severity
        yield facts.parting(RULE, item, place(item), message, related=related, severity=given)


def _from_signals(facts: ModuleFacts) -> Iterator[Finding | None]:
    """The first collective that each signal handler enters, if it is one of the file or calls functions of it."""
    if facts.alone:
        return
    for handler in handlers_of(facts.module):
        end = handler.end_lineno or handler.lineno
        met = (item for item in facts.reached if item.op.op != "init_process_group")
        # the handler itself is at the beginning of the way: nothing but the signal calls it
        entered = next((item for item in met if _begins(item, facts.module.path, handler.lineno, end)), None)
        if entered is None:
            continue
        yield facts.finding(RULE, entered.way[0], _BY_SIGNAL.format(entered.op.op), severity=Severity.WARNING)
    for led in led_to(facts):
        related = ((led.registered, "the handler that leads here is registered here"),)
        message = _BY_SIGNAL.format(led.op.op)
        yield facts.finding(RULE, led.site, message, related=related, severity=Severity.WARNING)


_BY_SIGNAL = (
    "each rank runs this when its signal arrives, wherever it is then: {} waits for the others, which may stand in "
    "another collective"
)


def _per_key(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives in the number and order of the keys that a rank has met."""
    for loop in () if facts.alone else keys_of_own_data.found(facts):
        key, many = shown(loop.key.text), f"{loop.op} over `{shown(loop.text)}`"
        if loop.ordered:
            condition = f"where a rank meets a key `{key}` that others do not, "
            message = f"it runs {many} for it alone, and waits: gather the keys first"
        else:
            condition = f"where ranks meet different keys `{key}`, or in another order, "
            message = f"each runs its own sequence of {many}: gather the keys first"
        related = ((loop.key.site, "the rank's data gives the key"),)
        yield facts.finding(
            RULE, loop.site, Conditional(condition, message), related=related, context=loop.context,
            severity=Severity.WARNING if loop.key.loaded or not loop.ordered else Severity.HINT,
        )  # fmt: skip


def _of_missing_gradients(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Gradients that are averaged one by one, without those that a rank does not have."""
    for missing in () if facts.alone else missing_gradients.found(facts):
        part, left_out = missing.skipped, missing.left_out
        said = (
            f"each rank averages only the gradients that it has, and a part of `{part.part}` has none on a rank whose "
            f"data does not need it (`{shown(part.text)}`): ranks reduce gradients of other parameters, and then wait"
        )
        related = (
            (part.site, "the rank's data decides here whether it calls the part"),
            (missing.call.site, "all_reduce runs here"),
            *(((left_out, "an entry is left out here"),) if left_out is not None else ()),
        )
        message = Conditional(_IF_LEFT_OUT if left_out is not None else "", said)
        yield facts.finding(
            RULE, missing.guard.site, message, related=related, context=missing.call.context, severity=Severity.WARNING
        )


#: it is not followed which dict the network is given
_IF_LEFT_OUT = "where what the network is given lacks a key on some rank, "


def _of_averages(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Averages over the ranks that a network takes only where its batch has something in it."""
    for branch, reached in () if facts.alone else averages_of_some.found(facts):
        op = reached.op
        message = (
            f"each rank's batch decides here whether it runs {op.op}, which averages over all ranks: one whose batch "
            "has nothing of the kind does not come to it, and goes on to the next collective"
        )
        related = ((op.site, f"{op.op} runs here"),)
        yield facts.finding(
            RULE, branch.site, message, related=related, chain=reached.way, severity=Severity.WARNING,
        )  # fmt: skip


def _begins(item: Reached, file: str, first: int, last: int) -> bool:
    return item.way[0].file == file and first <= item.way[0].line <= last
