"""All sequences of collectives that a rank may run, depending on its unknown conditions."""

from __future__ import annotations

from itertools import product

from ddpdoctor.lint.interpreter.trace import Branch, Loop
from ddpdoctor.lint.ranks.residual import Cell, has_op, walk
from ddpdoctor.lint.values.truths import outcome
from ddpdoctor.lint.values.values import Symbol, Taint

#: most conditions that both ranks test, and most paths, that are enumerated
_CONDITIONS, _WAYS = 6, 256

Way = tuple[tuple[object, ...], ...]


def may_agree(one: Cell | None, two: Cell | None) -> bool:
    """Whether the ranks can run the same sequences whatever both test.

    `if metrics is None or rank != last: ...` leaves one rank with a condition that the others do not have. That alone
    proves nothing: a condition that both test is tried with the same outcome on both, any other with each outcome.
    Where one tests data of its own, its sequence must be the same with each outcome: `if rank == 0 and best(): if not
    distributed: return` makes no difference where ranks are distributed.
    """
    left, right = _conditions(one), _conditions(two)
    own = {key: taint for side in (left, right) for key, taint in side.items() if not (key in left and key in right)}
    shared = sorted(left.keys() & right.keys())
    if len(shared) > _CONDITIONS:
        return False
    most = 1 if any(taint > Taint.UNKNOWN for taint in own.values()) else _WAYS
    try:
        for outcomes in product((True, False), repeat=len(shared)):
            known = dict(zip(shared, outcomes, strict=True))
            ways = {way for way, _ in _ways(one, known)}
            if ways != {way for way, _ in _ways(two, known)} or len(ways) > most:
                return False
    except _TooMany:
        return False
    return True


class _TooMany(Exception):
    """There are more paths than are enumerated."""


def _conditions(cell: Cell | None) -> dict[int, Taint]:
    """Unknown conditions by the number of their symbol."""
    found: dict[int, Taint] = {}
    for inner in walk(cell):
        if isinstance(inner.step, Branch):
            taints = [a.taint for a in inner.step.truth if isinstance(a, Symbol) and a.key == inner.key[1]]
            found[_symbol(inner)] = max(taints, default=Taint.RANK)
    return found


def _symbol(cell: Cell) -> int:
    key = cell.key[1]
    assert isinstance(key, int)
    return key


def _ways(cell: Cell | None, known: dict[int, bool]) -> list[tuple[Way, dict[int, bool]]]:
    """Sequences from here on, each with the outcomes that it assumes."""
    found: list[tuple[Way, dict[int, bool]]] = [((), known)]
    while cell is not None:
        longer: list[tuple[Way, dict[int, bool]]] = []
        for way, taken in found:
            longer.extend((way + more, then) for more, then in _steps(cell, taken))
        if len(longer) > _WAYS:
            raise _TooMany
        found, cell = longer, cell.rest
    return found


def _steps(cell: Cell, known: dict[int, bool]) -> list[tuple[Way, dict[int, bool]]]:
    if isinstance(cell.step, Loop):
        body = frozenset(way for way, _ in _ways(cell.sides[0], known))
        if not any(key[0] != "exit" for way in body for key in way) and not has_op(cell.rest):
            return [((), known)]  # however it is left, nothing runs
        return [((("loop", cell.key[1], body),), known)]
    if not isinstance(cell.step, Branch):
        return [((cell.key,), known)]
    symbol = _symbol(cell)
    decided = _decided(cell, known)
    ways: list[tuple[Way, dict[int, bool]]] = []
    for taken in (True, False) if decided is None else (decided,):
        ways.extend(_ways(cell.sides[0 if taken else 1], {**known, symbol: taken}))
    return ways


def _decided(cell: Cell, known: dict[int, bool]) -> bool | None:
    """The outcome of a condition, if it follows from the assumed outcomes."""
    assert isinstance(cell.step, Branch)
    if _symbol(cell) in known:
        return known[_symbol(cell)]
    made = next((a for a in cell.step.truth if isinstance(a, Symbol) and a.key == _symbol(cell)), None)
    value = outcome(made, known) if made is not None else None
    return value if value is None or made is None else value is not made.negated
