"""A decision based on this rank's own metric

## What it does
Finds a learning-rate schedule that follows a loss or score of this rank's share of the data:
`ReduceLROnPlateau.step(loss)`, or `step` of any scheduler under a condition on it; one that follows a sum which
`dist.reduce` has given to one rank alone; a learning rate that the program itself writes into its optimizer
(`group["lr"] = rate`), computed from or chosen by such a number, as the KL divergence of a policy's own samples; and,
with Lightning, `ModelCheckpoint`, `EarlyStopping` and the `monitor` of a schedule that follow a metric which the
validation logs without `sync_dist=True`, in its hooks or in a method that these call, also by `log_dict`, under a name
that may be put together, or one which rank 0 alone logs.

## Why it harms
Ranks see different data, so their metrics differ: one rank lowers its learning rate, another does not. From then on the
replicas drift apart, although their gradients are equal. A checkpoint that is the best for one rank's share of the
validation data need not be the best for all of them; early stopping ends when any rank wants to stop. A metric that
rank 0 alone logs does not exist on the others: each callback that asks for it there ends its rank with an error, while
rank 0 waits for it in the next collective. `dist.reduce` writes the sum on its `dst` only: on every other rank the
tensor still holds that rank's number, or a sum of some.

## Example
```python
loss = validate(model, sharded_loader)
scheduler.step(loss)
```

## Use instead
```python
loss = torch.tensor(validate(model, sharded_loader), device=device)
dist.all_reduce(loss, dist.ReduceOp.AVG)
scheduler.step(loss.item())
```
With Lightning:
```python
self.log("val_loss", loss, sync_dist=True)
```

## Fix safety
No automatic fix.

## When it is wrong
When the metric is made equal in a function that could not be followed. It is reported only if every loader is split by
a DistributedSampler, because a metric of all the data is the same on every rank; what was reduced to one rank is not,
however the data are split. Where no loader is in sight (reinforcement learning, say) a learning rate is reported if a
model in DDP has computed what it follows, which is false where every rank draws the same samples. A schedule that this
rank alone steps is not reported, nor a sum that is broadcast before.
With Lightning it is reported only if the file tells the Trainer to use several devices (a hint where settings or
options that it hands on may do so, unless a file or a command of the repository does) and the logged value is a loss, a
result of the network, or of an object of the project that the validation fills and that has nothing to do with other
ranks; what `compute()` of a metric or `all_gather` returns, and an object of torchmetrics that is logged itself, are
equal on all ranks. A metric of rank 0 alone is reported whatever it is, unless something logs it on the others as well,
or what follows it is told not to be `strict`.

## References
https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
https://lightning.ai/docs/pytorch/stable/visualize/logging_advanced.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import own_decisions, watched_metrics
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.facts.own_decisions import Decision
from ddpdoctor.lint.facts.watched_metrics import Watch
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD181",
    "unreduced-metric-decision",
    Severity.WARNING,
    advice="reduce the value over the ranks before the schedule follows it",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Steps of a scheduler by data of this rank, and what Lightning chooses by it."""
    yield from _watched(facts)
    for decision in own_decisions.decisions(facts):
        place = facts.place(decision.call)
        if decision.reduced is not None:
            yield _of_root(facts, decision, decision.reduced)
        elif decision.given:
            message = "each rank follows a metric of its own data: average it over ranks before the scheduler's step"
            yield facts.finding(RULE, place, message)
        else:
            message = "each rank changes the learning rate by a metric of its own data"
            yield facts.finding(RULE, place, message, severity=Severity.HINT)
    yield from _written(facts)


def _written(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Learning rates that the program writes into its optimizer."""
    for rate, split in own_decisions.own_rates(facts):
        said = (
            "each rank sets its learning rate by a number of its own data, and steps the averaged gradients by another "
            "rate: average the number over ranks before"
        )
        condition = "" if split else _UNLESS_ALIKE
        yield facts.finding(RULE, rate.site, Conditional(condition, said), context=rate.context)


#: no loader is in sight that would show it
_UNLESS_ALIKE = "unless every rank draws the same samples, "


def _of_root(facts: ModuleFacts, decision: Decision, reduced: CallEvent) -> Finding | None:
    """A finding about a sum that only one rank has, and that the schedules of all follow."""
    message = (
        "the learning rate of each rank follows a sum that reduce() gives to one rank alone, and the others have "
        "another number: use all_reduce"
    )
    return facts.finding(
        *(RULE, facts.place(decision.call), message),
        related=((reduced.site, "reduced to one rank here"),),
        severity=None if decision.given else Severity.HINT,
    )


def _watched(facts: ModuleFacts) -> Iterator[Finding | None]:
    """What follows a metric that each rank logs for itself."""
    split, several = watched_metrics.is_split(facts), watched_metrics.on_several(facts)
    for watch, logged in watched_metrics.watched_alone(facts) if split is not False else ():
        said = (
            f"{watch.by} follows {_named(watch)}, which each rank logs for its own share of the validation data: "
            "log it with sync_dist=True"
        )
        yield _of_lightning(facts, watch, logged, said, sure=split is True)
    for watch, logged in watched_metrics.watched_on_first(facts) if several is not False else ():
        said = (
            f"{watch.by} follows {_named(watch)} on every rank, and rank 0 alone logs it: the others have no such "
            "metric, and stop with an error: log it on all ranks"
        )
        yield _of_lightning(facts, watch, logged, said, sure=several is True)


def _of_lightning(facts: ModuleFacts, watch: Watch, logged: SourceSite, said: str, *, sure: bool) -> Finding | None:
    """A finding about what follows a metric; `sure`: of a program that is known to use several devices."""
    # of a schedule in another file, this one chooses the devices
    here = watch.site if watch.site.file == facts.module.path else watched_metrics.trainer(facts)
    if here is None:
        return None
    followed = ((watch.site, "followed here"),) if here != watch.site else ()
    return facts.finding(
        *(RULE, here, Conditional("on several devices, ", said)),
        related=(*followed, (logged, "logged here")),
        severity=None if sure else Severity.HINT,
        unconfirmed=None if sure else Unconfirmed(here, RelatedRole.UNSTARTED),
    )


def _named(watch: Watch) -> str:
    return f"`{watch.metric}`" if watch.metric else "what the settings name"
