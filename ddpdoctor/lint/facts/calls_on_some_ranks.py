"""Calls of methods that some ranks make alone, of objects of which this file shows nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import single_process
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.values.values import EVERY_RANK, Symbol
from ddpdoctor.program.sites import SourceSite

#: methods of what the language and torch have: a class of the project that has one as well is seldom meant
_PLAIN = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int, float) for name in dir(kind))


def of_unseen(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Guard]]:
    """Each such call, with the condition on the rank that it is under."""
    calls = [call for call in facts.calls if call.method and call.method not in _PLAIN and _is_here(facts, call)]
    made: dict[tuple[SourceSite | None, str], int] = {}
    for call in calls:
        made[_around(call)] = made.get(_around(call), 0) | call.context.mask
    for call in calls:
        guard = _on_rank(call)
        if guard is None or made[_around(call)] == EVERY_RANK:
            continue
        if not single_process.refuses_several(facts, (*call.context.chain, call.site)):
            yield call, guard


def _is_here(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is written in this file, and of an object that cannot be seen."""
    unseen = call.receiver is not None and call.receiver.object is None and not call.receiver.known
    return unseen and call.site.file == facts.module.path and call.context.handler != "except"


def _around(call: CallEvent) -> tuple[SourceSite | None, str]:
    """The function that it is in, by the call that leads there, and the method's name."""
    return (call.context.chain[-1] if call.context.chain else None), call.method


def _on_rank(call: CallEvent) -> Guard | None:
    """The condition that leaves it to some ranks, if the rank alone decides that."""
    if not call.context.some_ranks_only:
        return None
    told = (guard for guard in reversed(call.context.guards) if len(guard.truth) > 1)
    return next((guard for guard in told if not any(isinstance(atom, Symbol) for atom in guard.truth)), None)
