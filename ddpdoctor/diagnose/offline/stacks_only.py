"""Diagnoses from single stacks and the source, if no history tells what the ranks did before.

Most mistakes leave the same stacks behind. One does not: ranks are in a collective of the whole job that is reached
only under a condition on the rank, while the others are elsewhere, under no such condition.
"""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.diagnose.conditions import RankCondition
from ddpdoctor.diagnose.digest import frames, operations
from ddpdoctor.diagnose.divergence import call_conditions
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name

#: arguments that name a group: ranks outside the group need not come
_GROUPS = frozenset({"group", "process_group", "pg"})


@dataclass(frozen=True, slots=True)
class Extra:
    """A collective that only some ranks can reach."""

    op: str
    site: Site
    odd: RankSet
    reference: RankSet
    #: the condition on the rank under which alone it is reached
    condition: RankCondition

    @property
    def culprits(self) -> RankSet:
        """The smaller side; if both are equal, the one under the condition."""
        return self.reference if len(self.reference) < len(self.odd) else self.odd


def extra_call(facts: Facts) -> Extra | None:
    """Such a collective, if it is the only one, and every rank of the job was seen."""
    if facts.histories or facts.failures or facts.evidence.unseen():
        return None
    places: dict[tuple[Site, str], list[Rank]] = {}
    for rank in facts.waiting:
        wait, stack = facts.wait(rank), facts.stack(rank)
        if wait and stack and operations.family(wait.op) in operations.RECORDED and _is_explicit(facts, rank):
            places.setdefault((stack[0], wait.op), []).append(rank)
    every = RankSet.of(facts.states)
    found = [
        extra
        for (site, op), ranks in places.items()
        if (extra := _extra(facts, op, site, RankSet.of(ranks), every - RankSet.of(ranks)))
    ]
    return found[0] if len(found) == 1 else None


def _extra(facts: Facts, op: str, site: Site, odd: RankSet, reference: RankSet) -> Extra | None:
    if not reference or not all(facts.stack(rank) for rank in reference) or _names_a_group(facts, site):
        return None
    condition = call_conditions.condition_of(facts, site, odd, RankSet.of([reference.members[0]]))
    if condition is None or _on_the_other_side(facts, site, op):
        return None
    for rank in reference:
        theirs = facts.stack(rank)
        if any(frames.same_place(frame, condition.place) for frame in theirs):
            return None
        if call_conditions.condition_of(facts, theirs[0], RankSet.of([rank]), odd):
            return None  # each side has a branch of its own: it is not known which of the two is wrong
    return Extra(op, site, odd, reference, condition)


def _is_explicit(facts: Facts, rank: Rank) -> bool:
    """Whether the user's line calls the collective itself; what a backward or a wrapped model issues has
    other causes.
    """
    main = frames.main_thread(facts.rank(rank))
    return main is not None and not frames.waits_implicitly(main)


def _on_the_other_side(facts: Facts, site: Site, op: str) -> bool:
    """Whether the `else` calls the same operation: then every rank reaches one of the two."""
    sides = enclosing.branches(facts.program, site)
    called = enclosing.called_names(facts.program, site.file, sides[1]) if sides else frozenset()
    return any(operations.family(name) == operations.family(op) for name in called)


def _names_a_group(facts: Facts, site: Site) -> bool:
    """Whether the call is on a group that may leave the other ranks out."""
    here = enclosing.calls_on(facts.program, site)
    of_barrier = any(last_name(node.func) == "barrier" and node.args for node in here)
    return of_barrier or any(keyword.arg in _GROUPS for node in here for keyword in node.keywords)
