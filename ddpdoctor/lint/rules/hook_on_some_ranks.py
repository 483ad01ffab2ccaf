"""Hook with a collective that some ranks attach

## What it does
Finds hooks, handlers and callbacks that are attached under a condition on the rank and enter a collective when they are
called: a handler of ignite that runs an evaluator whose metrics are reduced, a hook in a list of the program's own that
its trainer goes through, a hook of a tensor that reduces its gradient.

## Why it hangs
The trainer calls the hook on the ranks that have it. They wait in its collective for the others, which go on to their
next step: the job hangs there, or two different collectives meet.

## Example
```python
if dist.get_rank() == 0:
    trainer.hooks.append(Evaluate(model, loader))  # reduces the metric over all ranks
```

## Use instead
```python
trainer.hooks.append(Evaluate(model, loader))  # and what it reports is left to rank 0 inside
```

## Fix safety
No automatic fix.

## When it is wrong
When the other ranks come to the same collective in another way. Hooks whose collectives are of a group of the ranks
that attach them are not reported, nor hooks of a trainer that only these ranks have, nor where the other ranks attach a
hook with the same collective. Where a condition around the collective is neither an option of the job nor decided by
the rank, it is a hint.

## References
https://docs.pytorch.org/docs/stable/distributed.html#collective-functions
https://docs.pytorch.org/ignite/generated/ignite.engine.engine.Engine.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import attached_hooks, proofs
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.values import Symbol, Taint
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD185",
    "hook-on-some-ranks",
    Severity.ERROR,
    ("DD203",),
    advice="attach the hook on all ranks, and leave to one of them what it prints or writes",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Hooks under a condition on the rank."""
    told = set()
    for entered in () if facts.alone else attached_hooks.on_some_ranks(facts):
        if entered.site in told:
            continue
        told.add(entered.site)
        op = entered.op.op
        message = f"only some ranks attach this, and it enters {op} when it is called: they wait there for the others"
        open_ = _undecided(entered.under)
        condition = f"where `{shown(open_)}` lets it come to {op}, " if open_ else ""
        related = [(entered.op.site, f"{op} is called here")]
        guard = next((g for g in entered.context.guards if len(g.truth) > 1), None)
        if guard is not None:
            related.insert(0, (guard.site, f"the branch: {shown(guard.text)}"))
        yield facts.finding(
            RULE, entered.site, Conditional(condition, message), related=tuple(related), context=entered.context,
            severity=Severity.HINT if open_ else None,
        )  # fmt: skip


def _undecided(under: tuple[Branch, ...]) -> str:
    """A condition around the collective of which nothing shows that it can hold, "" if there is none."""
    for branch in under:
        if len(branch.truth) > 1 or not any(isinstance(a, Symbol) and a.taint is Taint.UNKNOWN for a in branch.truth):
            continue
        if open_ := proofs.open_part(branch.text, ranked=False):
            return open_
    return ""
