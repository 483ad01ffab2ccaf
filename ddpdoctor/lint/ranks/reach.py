"""Reached collectives: each with the calls that lead to it, and the branches and loops around it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ddpdoctor.lint.interpreter.machine import Root
from ddpdoctor.lint.interpreter.trace import Branch, Loop, Op, Scope, Trace, steps
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite

#: most collectives: enough for every script; helpers that call helpers many times over would make it endless
MOST = 20_000
#: most collectives that are looked at where sides of branches are asked for
_MOST_SIDED = 5_000

#: branches around a collective, each with the side that it is on
Sides = tuple[tuple[Branch, bool], ...]


class Sided(NamedTuple):
    """A collective, the calls that lead to it from a root function, and the sides of the branches around it."""

    op: Op
    chain: tuple[SourceSite, ...]
    under: Sides


@record(frozen=True, slots=True)
class Reached:
    """A collective as the analysis of a root function reaches it."""

    op: Op
    #: calls that lead to it, outermost first, then the collective itself
    way: tuple[SourceSite, ...]
    #: branches around it
    under: tuple[Branch, ...]
    #: loops that repeat it, each with the number of calls that were open when the loop was entered
    loops: tuple[tuple[Loop, int], ...]

    def within(self, file: str, first: int, last: int) -> int | None:
        """The index in `way` of the first place in these lines, None if no place is."""
        for index, site in enumerate(self.way):
            if site.file == file and first <= site.line <= last:
                return index
        return None


def reached(roots: list[Root]) -> list[Reached]:
    """All collectives of all roots, in source order."""
    every = (step for root in roots for step in steps(root.trace))
    found = (
        Reached(node, (*chain, node.site), under, loops) for node, chain, under, loops in every if isinstance(node, Op)
    )
    return list(islice(found, MOST))


def sided(roots: list[Root], name: str) -> list[Sided]:
    """The collectives of the root functions of this name."""
    every = (step for root in roots if root.name == name for step in islice(_sided(root.trace, (), ()), _MOST_SIDED))
    return list(every)


def _sided(nodes: Trace, chain: tuple[SourceSite, ...], under: Sides) -> Iterator[Sided]:
    for node in nodes:
        if isinstance(node, Op):
            yield Sided(node, chain, under)
        elif isinstance(node, Branch):
            yield from _sided(node.then, chain, (*under, (node, True)))
            yield from _sided(node.other, chain, (*under, (node, False)))
        elif isinstance(node, Loop):
            yield from _sided(node.body, chain, under)
        elif isinstance(node, Scope):
            yield from _sided(node.body, (*chain, node.site), under)
