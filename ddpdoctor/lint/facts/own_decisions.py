"""Steps of a learning-rate schedule that each rank makes by a metric of its own data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value


class Decision(NamedTuple):
    """A step of a schedule, and the metric that it follows."""

    call: CallEvent
    metric: Value
    #: whether the schedule itself is given the metric; if not, it is what a condition around the step asks
    given: bool


def decisions(facts: ModuleFacts) -> Iterator[Decision]:
    """Steps of schedules by a metric of this rank's data, where every loader is split."""
    if not _all_split(facts):
        return
    for call in facts.methods("step"):
        path = _scheduler(call)
        metric = call.argument(0, "metrics") if path.endswith("ReduceLROnPlateau") else None
        if metric is not None and _own(metric):
            yield Decision(call, metric, given=True)
        elif path:
            asked = next((guard.value for guard in call.context.guards if _own(guard.value)), None)
            if asked is not None:
                yield Decision(call, asked, given=False)


def _scheduler(call: CallEvent) -> str:
    obj = call.receiver.object if call.receiver is not None else None
    return obj.path if isinstance(obj, Made) and obj.path.startswith("torch.optim.lr_scheduler.") else ""


def _own(value: Value) -> bool:
    return value.taint is Taint.RANK_LOCAL and bool(value.tags & Tag.BATCH)


def _all_split(facts: ModuleFacts) -> bool:
    """Every loader that is iterated is split by a DistributedSampler."""
    found = [i.loop.over for i in facts.iterations if loaders.loader_of(i.loop.over) is not None]
    return bool(found) and all(loaders.sampler_of(over) is not None for over in found)
