"""Collective under a branch on the rank

## What it does
Finds a collective that some ranks run and others do not, because it is (directly or in a called function) on one side
of a branch on the rank and the other side runs no matching collective. Methods of frameworks count that are
collective, such as the `run` of an evaluator of ignite with metrics that are reduced over all ranks at its end. Of a
method of an object that cannot be seen, such as what a hook is given, the methods of its name in the project are asked.

## Why it hangs
Every member of a group must enter the same collectives in the same order. The ranks inside the branch wait for the
others until the timeout of the process group: by default ten minutes on NCCL, thirty on gloo.

## Example
```python
if dist.get_rank() == 0:
    save(model)
    dist.barrier()
```

## Use instead
```python
if dist.get_rank() == 0:
    save(model)
dist.barrier()
```

## Fix safety
No automatic fix: only the author knows whether the collective belongs after the branch or on both sides.

## When it is wrong
The rule follows values, not names, and compares the whole sequences of two ranks. A barrier in `if rank != 0:` that is
matched by one in a later `if rank == 0:` is not reported. The rule can be wrong if a function that it cannot see runs
the missing collective. Where a condition on the way is neither an option of the job nor decided by the rank, the
finding is a hint and says the condition first; so it is where the function is handed to something on the other ranks,
which may call it there.

## References
https://docs.pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import attached_hooks, calls_on_some_ranks, proofs
from ddpdoctor.lint.facts.module_facts import ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.fsdp import FORWARD
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence, place, proof
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD111",
    "collective-under-rank-branch",
    Severity.ERROR,
    ("DD203",),
    advice="move the collective out of the branch, so that all ranks call it",
)

#: operations that DD117, DD164 and DD175 report
_ELSEWHERE = collectives.SAVING | {"new_group", FORWARD}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Divergences with a collective on one side only, and calls that are one if the project says so."""
    for item in facts.divergences:
        if item.local or item.exit is not None or item.mismatched or item.op.op in _ELSEWHERE:
            continue
        # under a condition: who makes a group where there is none makes none after the start of the job
        if item.op.op == "init_process_group" and proofs.undecided(facts, item):
            continue
        severity = proofs.severity(facts, item)
        if severity is None or _is_of_hook(facts, item):
            continue
        message = proofs.worded(facts, item, f"only some ranks run {item.op.op} here: {proof(item)}")
        related = [(item.branch.site, f"the branch: {shown(item.branch.text)}")]
        if item.chain:
            related.append((item.op.site, f"{item.op.op} is called here"))
        yield facts.parting(RULE, item, place(item), message, related=tuple(related), severity=severity)
    for call, guard in calls_on_some_ranks.of_unseen(facts):
        yield facts.finding(
            RULE,
            call.site,
            f"only some ranks call {call.method} here, which runs a collective",
            related=((guard.site, f"the branch: {shown(guard.text)}"),),
            severity=Severity.HINT,
            unconfirmed=Unconfirmed(call.site, RelatedRole.UNREACHED),
        )


def _is_of_hook(facts: ModuleFacts, item: CollectiveDivergence) -> bool:
    """Whether a loop over a list that some ranks have made longer calls a hook, of which DD185 tells where that is."""
    looped = any(iteration.loop.site == item.branch.site for iteration in facts.iterations)
    return looped and any(entered.op.site == item.op.site for entered in attached_hooks.on_some_ranks(facts))
