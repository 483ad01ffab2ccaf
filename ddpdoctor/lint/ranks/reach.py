"""Reached collectives: each with the calls that lead to it, and the branches and loops around it."""

from __future__ import annotations

from itertools import islice

from ddpdoctor.lint.interpreter.machine import Root
from ddpdoctor.lint.interpreter.trace import Branch, Loop, Op, steps
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite

#: most collectives: enough for every script; helpers that call helpers many times over would make it endless
MOST = 20_000


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
