"""Places in the turns of loops: which are passed in one turn, and under which conditions on its number."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.lint.interpreter.events import CallEvent, Context
from ddpdoctor.lint.values import formulas, symbols
from ddpdoctor.lint.values.formulas import Formula, Reader
from ddpdoctor.lint.values.values import Atom


def same_root(one: Context, two: Context) -> bool:
    """Whether two places are reached from one start."""
    return one.calls[:1] == two.calls[:1]


def same_turn(one: Context, two: Context) -> bool:
    """Whether the same loops are around two places, so that each turn may pass both."""
    return same_root(one, two) and [loop.site for loop in one.loops] == [loop.site for loop in two.loops]


def is_behind(inner: Context, later: CallEvent) -> bool:
    """Whether a call comes after the innermost loop around a place, in each turn of the loops around that."""
    around = [loop.site for loop in inner.loops]
    if not around or not same_root(inner, later.context) or [loop.site for loop in later.context.loops] != around[:-1]:
        return False
    last = getattr(inner.loops[-1].node, "end_lineno", None) or 0
    return any(site.line > last for site in (*later.context.chain, later.site) if site.file == around[-1].file)


def reader_of(contexts: Iterable[Context], more: Iterable[Atom] = ()) -> Reader:
    """A reader that knows what the conditions of these places count."""
    reader = Reader(symbols.structures())
    reader.learn(atom for context in contexts for guard in context.guards for atom in guard.truth)
    reader.learn(more)
    return reader


def conditions(reader: Reader, context: Context) -> Formula:
    """The conditions of a place that are alike on all ranks."""
    alike = [guard for guard in context.guards if len(guard.truth) == 1]
    read = ((reader.formula(guard.truth[0]), guard.side) for guard in alike)
    return formulas.all_of(formula if side else formulas.denied(formula) for formula, side in read)
