"""Where some ranks take a batch out of the iterator that a loop goes through, which then has fewer turns on them."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import EVERY_RANK, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.sites import SourceSite


class Taken(NamedTuple):
    """A batch that some ranks take, the loop that lacks it then, and a collective in that."""

    call: CallEvent
    loop: EnclosingLoop
    waiting: Op

    @property
    def of_loader(self) -> bool:
        """Whether it comes out of a loader, which has an end."""
        return loaders.loader_of(self.loop.over) is not None


def by_some_ranks(facts: ModuleFacts) -> Iterator[Taken]:
    """Each such batch, unless the other ranks take one somewhere in the loop, too."""
    found: dict[SourceSite, list[tuple[CallEvent, EnclosingLoop]]] = {}
    for call in facts.named("builtins.next"):
        loop = _loop_of(call)
        if loop is not None:
            found.setdefault(loop.site, []).append((call, loop))
    for site, takes in found.items():
        ranks = 0
        for call, _ in takes:
            ranks |= call.context.mask
        waiting = facts.looped.get(site)
        if ranks != EVERY_RANK and waiting:
            yield from {call.site: Taken(call, loop, waiting[0]) for call, loop in takes}.values()


def _loop_of(call: CallEvent) -> EnclosingLoop | None:
    """The loop around, if it goes through the iterator that is asked for the next element."""
    asked = call.args[0] if call.args else None
    if asked is None:
        return None
    around = reversed(call.context.loops)
    return next((loop for loop in around if loop.iterator is not None and _is_same(loop.iterator, asked)), None)


def _is_same(one: Value, two: Value) -> bool:
    """Whether two values are one iterator, which ends."""
    endless = (one.tags | iterated_of(one)[0].tags) & (Tag.ENDLESS | Tag.MAYBE)
    return not endless and one.atoms == two.atoms
