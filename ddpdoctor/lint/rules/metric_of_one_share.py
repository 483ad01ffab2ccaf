"""A metric of one rank's share of the data, told as that of the whole

## What it does
Finds an evaluation over a loader that is divided among the ranks (by a `DistributedSampler`, another sampler or a part
of the data by rank, Accelerate's `prepare`, Fabric's `setup_dataloaders`), whose loss or score is then printed, logged
or written as it is, because nothing adds it up over the ranks. With Lightning, a value that the validation logs without
`sync_dist=True`, if nothing follows it: that is DD181.

## Why it harms
The number that is shown is that of the first rank's samples: of an eighth of the data with eight ranks. It is more
noisy than it looks, is of other samples with another number of ranks, and cannot be compared with what a single process
has measured. A count that is divided by the length of the whole data set is too small by the number of ranks. Nothing
fails, and the number looks right.

## Example
```python
loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
with torch.no_grad():
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
        seen += len(y)
if rank == 0:
    print("accuracy", right / seen)
```

## Use instead
```python
both = torch.tensor([right, seen], device=device)
dist.all_reduce(both)
right, seen = both.tolist()
if rank == 0:
    print("accuracy", right / seen)
```
Sums and counts are reduced, and divided afterwards: an average of the ranks' averages weighs the samples of a rank that
has fewer of them more, and a score that is no average (F1, IoU, a median) is not the average of the ranks' scores.
Where each sample is needed, gather what the ranks have computed: `accelerator.gather_for_metrics((guesses, y))`,
`dist.all_gather_object`. With Lightning, `self.log("val_loss", loss, sync_dist=True)`, or a metric of torchmetrics.

## Fix safety
No automatic fix.

## When it is wrong
When the number is meant for this rank alone, or a few samples are enough to watch a run. Not reported are a loop that
trains, what is told within the loop, samples of a batch and what is generated of them, a text that holds the rank,
metrics of torchmetrics, and an evaluation in which anything brings together what the ranks have, a collective, or a
function whose name may mean one: unless the number is summed up in the evaluation's loop of what that does not touch,
as a loss may be beside an accuracy that is reduced. A print from all ranks, each of its own number, is a hint, and so
is what Lightning logs, which itself warns of it.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
https://huggingface.co/docs/accelerate/quicktour#distributed-evaluation
https://lightning.ai/docs/pytorch/stable/visualize/logging_advanced.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import own_decisions, reported_metrics, watched_metrics
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.facts.reported_metrics import Report
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD186",
    "metric-of-one-share",
    Severity.WARNING,
    advice="reduce sums and counts over the ranks, and divide afterwards",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Numbers that are told of evaluations over a share, which nothing has reduced."""
    if heuristics.OF_TESTS.found_in(facts.module.path):
        return
    yield from _logged(facts)
    decided = [d.call for d in own_decisions.decisions(facts) if d.metric.tags & Tag.EVALUATED]
    for report in reported_metrics.reports(facts):
        # DD181 tells of what a schedule follows
        if not any(reported_metrics.led_to(call, report.evaluation) for call in decided):
            yield _found(facts, report)


def _found(facts: ModuleFacts, report: Report) -> Finding | None:
    call, loop = report.call, report.evaluation.loop
    message = Conditional(
        "unless it is meant for this rank alone, ",
        "this number is told as that of all the data: it was computed of one rank's share, and nothing adds it up over "
        "the ranks",
    )
    related = ((loop.site, "evaluated here"), (report.divided, "divided among the ranks here"))
    return facts.finding(
        *(RULE, call.site, message),
        related=tuple(dict(related).items()),
        context=call.context,
        severity=None if report.by_one else Severity.HINT,
    )


def _logged(facts: ModuleFacts) -> Iterator[Finding | None]:
    """What a validation of Lightning logs, where nothing follows what it logs."""
    trainer = watched_metrics.trainer(facts)
    if trainer is None or not watched_metrics.is_split(facts) or any(watched_metrics.watched_alone(facts)):
        return
    logged = watched_metrics.told_alone(facts)
    if logged is not None:
        here = logged if logged.file == facts.module.path else trainer
        message = Conditional(
            "on several devices, ",
            "the validation logs a value of the first rank's share of the data: log it with sync_dist=True",
        )
        related = ((logged, "logged here"),) if here != logged else ((trainer, "the data are divided by this"),)
        yield facts.finding(RULE, here, message, related=related, severity=Severity.HINT)
