"""Where a rank asks an object, of which its file shows nothing, to stop, by data of its own: what a hook does with its
trainer."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import meeting_later
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.values.values import Symbol, Taint


def by_own_data(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Guard]]:
    """Each such call, with the condition that it is under: `trainer.request_stop()` where the clock has run out."""
    for call in facts.calls:
        if not heuristics.ASKS_TO_STOP.found_in(call.method) or call.site.file != facts.module.path:
            continue
        receiver = call.receiver
        unseen = receiver is not None and receiver.object is None and not receiver.known
        own = next(filter(_is_own, reversed(call.context.guards)), None)
        if unseen and own is not None and not call.context.some_ranks_only:
            yield call, own


def _is_own(guard: Guard) -> bool:
    """Whether each rank asks its own data."""
    atom = guard.truth[0]
    alone = len(guard.truth) == 1 and isinstance(atom, Symbol) and atom.taint is Taint.RANK_LOCAL
    return alone and bool(guard.value.tags & meeting_later.OWN)
