"""Every collective with the way that leads to it: which lines of a file it is reached through, and under what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ddpdoctor.lint.interpreter.machine import Root
from ddpdoctor.lint.interpreter.trace import Branch, Loop, Node, Op, Scope
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite

#: enough for every script; helpers that call helpers many times over would make it endless
MOST = 20_000


@record(frozen=True, slots=True)
class Reached:
    """A collective, as a function analysed from its start comes to it."""

    op: Op
    #: calls that lead to it, outermost first, and itself
    way: tuple[SourceSite, ...]
    #: branches that it stands under
    under: tuple[Branch, ...]
    #: loops that repeat it, each with the number of calls that were open when it was entered
    loops: tuple[tuple[Loop, int], ...]

    def within(self, file: str, first: int, last: int) -> int | None:
        """The index in `way` of what stands in these lines, None where it does not come through them."""
        for index, site in enumerate(self.way):
            if site.file == file and first <= site.line <= last:
                return index
        return None


def reached(roots: list[Root]) -> list[Reached]:
    """All collectives of all roots, in source order."""
    return list(islice((item for root in roots for item in _of(root.trace, (), (), ())), MOST))


def _of(
    nodes: tuple[Node, ...], way: tuple[SourceSite, ...], under: tuple[Branch, ...], loops: tuple[tuple[Loop, int], ...]
) -> Iterator[Reached]:
    for node in nodes:
        if isinstance(node, Op):
            yield Reached(node, (*way, node.site), under, loops)
        elif isinstance(node, Scope):
            yield from _of(node.body, (*way, node.site), under, loops)
        elif isinstance(node, Loop):
            yield from _of(node.body, way, under, (*loops, (node, len(way))))
        elif isinstance(node, Branch):
            yield from _of(node.then, way, (*under, node), loops)
            yield from _of(node.other, way, (*under, node), loops)
