"""Learning rates that a program multiplies by the number of ranks where it has loaded the optimizer's state before."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.exclusion import contradict
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, RateSetting
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.named_tuple import NamedTuple


class Rescaled(NamedTuple):
    """A rate that is multiplied, where its optimizer has taken over a state that holds the product, and where the
    program takes that state."""

    rate: RateSetting
    loaded: CallEvent
    saved: CallEvent
    #: whether a schedule is made of the optimizer, most of which set the rate by what it was in the beginning
    scheduled: bool


def found(facts: ModuleFacts) -> Iterator[Rescaled]:
    """Rates that are multiplied again at each restart."""
    rates = facts.analysis.rates
    for rate in rates:
        optimizer = _made(rate.optimizer)
        if not rate.multiplies or not rate.value.tags & Tag.WORLD or optimizer is None:
            continue
        saved = next((c for c in facts.methods("state_dict") if _is(c.receiver, optimizer)), None)
        loaded = _loaded_before(facts, rate, optimizer)
        if saved is None or loaded is None or any(_sets_anew(other, loaded, optimizer) for other in rates):
            continue
        schedules = facts.concerning(frameworks.is_schedule)
        scheduled = any(_is(call.argument(0, "optimizer"), optimizer) for call in schedules)
        yield Rescaled(rate, loaded, saved, scheduled)


def _loaded_before(facts: ModuleFacts, rate: RateSetting, optimizer: Made) -> CallEvent | None:
    """The last time before that the optimizer takes over a state, in a run that comes to the product as well."""
    loads = (
        call for call in facts.methods("load_state_dict")
        if call.index < rate.index and _is(call.receiver, optimizer)
        and not contradict((*call.context.guards, *rate.context.guards))
    )  # fmt: skip
    return max(loads, key=lambda call: call.index, default=None)


def _sets_anew(other: RateSetting, loaded: CallEvent, optimizer: Made) -> bool:
    """Whether the rate of the loaded state is replaced: by what is given, and not by a multiple."""
    return not other.multiplies and other.index > loaded.index and _is(other.optimizer, optimizer)


def _is(value: Value | None, optimizer: Made) -> bool:
    made = _made(value)
    return made is not None and made.site == optimizer.site


def _made(value: Value | None) -> Made | None:
    return value.object if value is not None and isinstance(value.object, Made) else None
