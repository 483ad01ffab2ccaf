"""Whether conditions exclude each other: no run has all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from ddpdoctor.lint.interpreter.events import BranchEvent, CallEvent, Guard
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.values.symbols import exclude
from ddpdoctor.lint.values.values import Symbol
from ddpdoctor.model.record import replace


def contradict(guards: Iterable[Guard]) -> bool:
    """Whether one of the conditions has to hold for an unknown that has to fail for another one: `if distributed:` and
    the `else` of another `if distributed:`, `if mode == "one":` and `if mode == "many":`."""
    needed: dict[int, bool] = {}
    for guard in guards:
        for key, holds in _needs(guard):
            if needed.setdefault(key, holds) is not holds:
                return True
    held = [key for key, holds in needed.items() if holds]
    return any(exclude(one, other) for one, other in combinations(held, 2))


def keeps_from(branch: Branch, events: Iterable[BranchEvent], calls: Iterable[CallEvent]) -> bool:
    """Whether no run that does what a branch has in its one side makes any of the calls; `events` are all branches."""
    calls = [*calls]
    sides = [side for side, nodes in ((True, branch.then), (False, branch.other)) if nodes]
    here = [event for event in events if (event.guard.site, event.guard.truth) == (branch.site, branch.truth)]
    pairs: list[tuple[Guard, ...]] = []
    for event in here:
        context = event.context
        # the last of the conditions is the branch's own
        own = [replace(event.guard, side=side) for side in sides if len(sides) == 1]
        # of the same simulation; what a method finds in its object, the object's other methods have made
        mine = [call for call in calls if call.context.calls[:1] == context.calls[:1]] or calls
        pairs += [(*context.guards[:-1], *own, *call.context.guards) for call in mine]
    return bool(pairs) and all(map(contradict, pairs))


def _needs(guard: Guard) -> set[tuple[int, bool]]:
    """(unknown, whether it holds) for each of which a condition is made, on all ranks on which it may hold."""
    made = [set(_parts(atom, guard.side)) for atom in guard.truth if isinstance(atom, Symbol) or atom is guard.side]
    return set.intersection(*made) if made else set()


def _parts(truth: object, side: bool) -> Iterator[tuple[int, bool]]:
    """The same of one rank."""
    left = [(truth, side)]
    while left:
        atom, holds = left.pop()
        if not isinstance(atom, Symbol):
            continue
        holds = holds is not atom.negated
        yield atom.key, holds
        # all parts of an `and` that holds hold, and none of an `or` that does not
        if atom.parts is not None and holds is (atom.parts[0] == "and"):
            left += [(part, holds) for part in atom.parts[1:]]
