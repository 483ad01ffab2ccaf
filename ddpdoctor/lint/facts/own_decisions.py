"""Steps of a learning-rate schedule that each rank makes by a metric of its own data, or by a sum that one rank alone
has; and rates that a program writes into its optimizer by such a metric."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, RateSetting
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.model.named_tuple import NamedTuple


class Decision(NamedTuple):
    """A step of a schedule, and the metric that it follows."""

    call: CallEvent
    metric: Value
    #: whether the schedule itself is given the metric; if not, it is what a condition around the step asks
    given: bool
    #: where one rank alone was given the sum that the metric is made of; None if no rank was
    reduced: CallEvent | None = None


def decisions(facts: ModuleFacts) -> Iterator[Decision]:
    """Steps of schedules by a metric of this rank's data, where every loader is split, or by the sum of one rank."""
    split = _all_split(facts)
    for call in facts.methods("step"):
        path = _scheduler(call)
        metric = call.argument(0, "metrics") if path.endswith("ReduceLROnPlateau") else None
        asked = [guard.value for guard in call.context.guards] if path else []
        reduced = _reduced_before(facts, call)
        if metric is not None and reduced is not None and _of_root(metric) and not call.context.some_ranks_only:
            yield Decision(call, metric, given=True, reduced=reduced)
        elif metric is not None and split and _own(metric):
            yield Decision(call, metric, given=True)
        elif reduced is not None and (own := next(filter(_of_root, asked), None)) is not None:
            yield Decision(call, own, given=False, reduced=reduced)
        elif split and (own := next(filter(_own, asked), None)) is not None:
            yield Decision(call, own, given=False)


def own_rates(facts: ModuleFacts) -> Iterator[tuple[RateSetting, bool]]:
    """Learning rates that all ranks write into their optimizers, each by data of its own, and whether samplers show
    that these data differ; if not, a network in DDP has computed them, as it seldom does of equal data."""
    split = _all_split(facts)
    unknown = not any(loaders.loader_of(i.loop.over) is not None for i in facts.iterations)
    for rate in facts.analysis.rates:
        value = rate.value
        own = value.taint is Taint.RANK_LOCAL and value.tags & (Tag.BATCH | Tag.DDP)
        if not own or value.tags & Tag.AGREED or rate.context.some_ranks_only:
            continue
        if split or (unknown and value.tags & Tag.DDP):
            yield rate, split


def _reduced_before(facts: ModuleFacts, call: CallEvent) -> CallEvent | None:
    """The last sum for one rank before a call."""
    return max((c for c in facts.named(collectives.REDUCE) if c.index < call.index), key=_index, default=None)


def _index(call: CallEvent) -> int:
    return call.index


def _of_root(value: Value) -> bool:
    """Whether it is made of a sum that was reduced to one rank, so that the others have something else."""
    return bool(value.tags & Tag.OF_ROOT)


def _scheduler(call: CallEvent) -> str:
    obj = call.receiver.object if call.receiver is not None else None
    return obj.path if isinstance(obj, Made) and obj.path.startswith("torch.optim.lr_scheduler.") else ""


def _own(value: Value) -> bool:
    return value.taint is Taint.RANK_LOCAL and bool(value.tags & Tag.BATCH)


def _all_split(facts: ModuleFacts) -> bool:
    """Every loader that is iterated is split by a DistributedSampler."""
    found = [i.loop.over for i in facts.iterations if loaders.loader_of(i.loop.over) is not None]
    return bool(found) and all(loaders.sampler_of(over) is not None for over in found)
