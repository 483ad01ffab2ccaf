"""Whether conditions exclude each other: no run has all of them."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.lint.interpreter.events import Guard
from ddpdoctor.lint.values.values import Symbol


def contradict(guards: Iterable[Guard]) -> bool:
    """Whether one of the conditions has to hold for an unknown that has to fail for another one: `if distributed:` and
    the `else` of another `if distributed:`."""
    needed: dict[int, bool] = {}
    return any(needed.setdefault(key, holds) is not holds for guard in guards for key, holds in _needs(guard))


def _needs(guard: Guard) -> Iterable[tuple[int, bool]]:
    """(unknown, whether it holds) for each of which a condition, equal on all ranks, is made."""
    left = [(atom, guard.side) for atom in guard.truth if isinstance(atom, Symbol)] if len(guard.truth) == 1 else []
    while left:
        atom, holds = left.pop()
        holds = holds is not atom.negated
        yield atom.key, holds
        # all parts of an `and` that holds hold, and none of an `or` that does not
        if atom.parts is not None and holds is (atom.parts[0] == "and"):
            left += [(part, holds) for part in atom.parts[1:] if isinstance(part, Symbol)]
