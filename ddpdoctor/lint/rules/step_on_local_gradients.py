"""The optimizer steps by gradients that were never averaged

## What it does
Finds accumulation of gradients in which the condition of the step and that of averaging do not agree: a step is made in
the last turn of a loop, or behind it, whose backward passes all ran under `no_sync()` (or with
`require_backward_grad_sync = False`); gradients are averaged in another turn than that of the step, or in every turn
but that, as where the condition of `no_sync()` was turned round; or the turn that would average is compared with
another number than the loop runs to, so that the loop never comes to it.

## Why it harms
Each rank steps by the gradients of its own batches. From then on the parameters differ between the ranks, and nothing
makes them equal again. Nothing hangs, and nothing is reported.

## Example
```python
for i, batch in enumerate(loader):
    with nullcontext() if (i + 1) % every == 0 else model.no_sync():
        model(batch).backward()
    if (i + 1) % every == 0 or i + 1 == len(loader):
        optimizer.step()
```

## Use instead
```python
for i, batch in enumerate(loader):
    steps = (i + 1) % every == 0 or i + 1 == len(loader)
    with nullcontext() if steps else model.no_sync():
        model(batch).backward()
    if steps:
        optimizer.step()
```

## Fix safety
No automatic fix.

## When it is wrong
When the number of batches is always a multiple of the window, in a way that lint does not see; when gradients are
averaged in code that could not be followed. A program that averages gradients itself is not reported, nor one whose
conditions lint cannot compare.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.no_sync
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import local_windows
from ddpdoctor.lint.facts.local_windows import Fault
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD170",
    "step-on-local-gradients",
    Severity.ERROR,
    advice="let one condition decide both: whether this turn averages gradients, and whether it makes a step",
)

_PARTIAL = "where the number of batches is no multiple of the window, "
_SAID = {
    Fault.LAST_TURN: Conditional(
        _PARTIAL,
        "the step of the last batch is made by gradients that each rank has kept to itself: average in every turn that "
        "makes a step",
    ),
    Fault.BEHIND: Conditional(
        _PARTIAL,
        "the step behind the loop is made by gradients that each rank has kept to itself: average in the last turn of "
        "the loop, too",
    ),
    Fault.ANOTHER_TURN: Conditional(
        "where a window has several turns, ",
        "the backward pass before each step keeps its gradients on its rank: the turn that averages is another one",
    ),
    Fault.NEVER: Conditional("", "the loop ends before the turn that averages: each rank steps by its own gradients"),
    Fault.EARLY: Conditional(
        "", "gradients are averaged before the last turn of the loop: each rank steps by its own gradients of the rest"
    ),
    Fault.THAT_TURN: Conditional(
        "",
        "every turn averages gradients but the one that makes a step, whose gradients stay on their rank: turn the "
        "condition of no_sync round",
    ),
    Fault.PART: Conditional(
        "unless the number of turns is divided by 1, ",
        "the loop never comes to the turn that averages, which is counted by the number before the division: each rank "
        "steps by its own gradients",
    ),
}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Steps by gradients that no backward pass has averaged."""
    for window in local_windows.found(facts):
        message = _SAID[window.fault]
        yield facts.finding(
            *(RULE, window.kept.site, message),
            related=((window.backward.site, "the backward pass"), (window.step.site, "the step")),
            context=window.kept.context,
            severity=Severity.WARNING if message.condition else None,
        )
