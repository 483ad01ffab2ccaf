"""Loops whose turns a variable counts and that end by themselves alone, as the source shows."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.loop_exits import leaves
from ddpdoctor.program.nodes import children, last_name, walk
from ddpdoctor.program.program import Program
from ddpdoctor.program.turn_counters import SCOPES, TurnCounter, turn_counters

#: what may come to a line several times in a turn of the loop around it
_REPEATING = (*enclosing.LOOPS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Mark:
    """A line on the way to the call, with the loop of its function around it that may come to it several times in a
    turn; without one, the line alone."""

    site: Site
    first: int
    last: int
    #: functions that the line calls for arguments of the call
    arguments: frozenset[str] = frozenset()

    def __contains__(self, place: object) -> bool:
        return isinstance(place, Site) and self.first <= place.line <= self.last

    @property
    def repeats(self) -> bool:
        return self.first != self.last


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A `for` loop over numbers or numbered things, and the way in it to a call."""

    head: Site
    #: the first line of its body, and its last line
    body: int
    last: int
    counter: TurnCounter
    #: the lines that lead to the call, that in the loop's own function first
    way: tuple[Mark, ...]
    #: `continue`, and what catches exceptions, by which a turn comes past the call: the lines of their conditions
    passes: tuple[Site, ...]

    @property
    def comes_again(self) -> bool:
        """Whether a turn may come to the call several times."""
        return any(mark.repeats for mark in self.way)

    def comes_to_it(self, frames: Sequence[Site]) -> bool | None:
        """Whether a rank has still to come to the call in its turn. `frames`: where it is, from the loop's function
        inwards. None if it is at the call, in something that the same line calls, or in an inner loop around it.

        The head takes the next element while the counter still has the number of the one before.
        """
        inwards, files = iter(frames), {mark.site.file for mark in self.way}
        place = next(inwards, None)
        for mark in self.way:
            if place is None or (place.file, place.plain_function) != (mark.site.file, mark.site.plain_function):
                return None
            if place not in mark:
                return self.body <= place.line < mark.first if mark is self.way[0] else place.line < mark.first
            place = next(inwards, None)
            if mark.repeats or place is None:
                return None
            if place.plain_function in mark.arguments:
                return True
            while place is not None and place.file not in files:
                place = next(inwards, None)
        return None


def loop_around(code: Mapping[str, SourceFile], path: Sequence[Site]) -> CountedLoop | None:
    """The innermost such loop around a call, whose callers are `path`, innermost first. A loop that something in it
    leaves is none, for it may go over as many elements as a rank needs. None also if a file was changed since the job
    was started."""
    program = Program(code)
    for depth, site in enumerate(path):
        if site.file in code and code[site.file].changed:
            return None
        for node in enclosing.around(program, site):
            if isinstance(node, ast.For) and (found := _counted(program, path[depth::-1], node)) is not None:
                return found
    return None


def _counted(program: Program, way: Sequence[Site], loop: ast.For) -> CountedLoop | None:
    site = way[0]
    scope = enclosing.function_around(program, site) or program.tree(site.file)
    if scope is None or leaves(loop):
        return None
    counter = next((one for one in turn_counters(scope, loop) if not one.counts_at), None)
    if counter is None:
        return None
    head = replace(site, line=loop.lineno)
    passes = tuple(replace(site, line=line) for part in loop.body for line in _passes(part, site.line, part.lineno))
    inner = (*(one.plain_function for one in way[1:]), "")
    marks = tuple(
        _mark(program, one, loop if one is site else None, called) for one, called in zip(way, inner, strict=True)
    )
    return CountedLoop(head, loop.body[0].lineno, loop.end_lineno or loop.lineno, counter, marks, passes)


def _mark(program: Program, site: Site, within: ast.AST | None, called: str) -> Mark:
    """`within`: only loops inside of this one count. `called`: the function that leads on to the call."""
    around = itertools.takewhile(lambda node: node is not within, enclosing.around(program, site))
    repeating = [node for node in around if isinstance(node, _REPEATING)]
    if repeating:
        return Mark(site, repeating[-1].lineno, repeating[-1].end_lineno or repeating[-1].lineno)
    calls = [call for call in enclosing.calls_on(program, site) if called and last_name(call.func) == called]
    given = [node for call in calls for part in (*call.args, *call.keywords) for node in walk(part)]
    names = frozenset(last_name(node.func) for node in given if isinstance(node, ast.Call))
    return Mark(site, site.line, site.line, names - {called, ""})


def _passes(node: ast.AST, call: int, condition: int) -> Iterator[int]:
    """The lines of the conditions of `continue` before the call's line, and of handlers of a `try` around it."""
    if isinstance(node, ast.Continue) and node.lineno < call:
        yield condition
    if isinstance(node, (*SCOPES, *enclosing.LOOPS)):
        return
    if isinstance(node, ast.Try) and node.lineno <= call <= (node.end_lineno or call):
        yield from (handler.lineno for handler in node.handlers)
    for child in children(node):
        yield from _passes(child, call, child.lineno if isinstance(child, (ast.If, ast.ExceptHandler)) else condition)
