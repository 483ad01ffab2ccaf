"""How many turns of a loop ranks have taken, where one has left it and the others are in it.

Without a loader nothing records turns. But the loop's counter, which the stacks have, or a number of turns that is
equal on all ranks, tells whether the rank that left took the turn in which the others are: then it left out its work
there or in a turn before, and otherwise its loop ended sooner.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence.relative_position import outside_torch, users_line
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import children, last_name
from ddpdoctor.program.turn_counters import Loop, TurnCounter, turn_counters

_JUMPS = (ast.Continue, ast.Break, ast.Return)
#: functions that give as many elements as they get
_AS_MANY = frozenset({"enumerate", "tqdm", "track"})
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)


@dataclass(frozen=True, slots=True)
class LeftLoop:
    """The only loop that the odd ranks have left and the others are in, and no loop is in it around these."""

    loop: Loop
    #: its first line
    head: Site
    #: the line in it, in its own function, at which the reference rank is
    at: Site
    #: both ranks are still in the function that has the loop
    in_frame: bool

    def __contains__(self, site: object) -> bool:
        last = self.loop.end_lineno or self.head.line
        return isinstance(site, Site) and site.file == self.head.file and self.head.line <= site.line <= last


@dataclass(frozen=True, slots=True)
class Turns:
    """What a loop's counter says, compared."""

    counter: str
    head: Site
    #: value -> the ranks that have it
    values: Mapping[int, RankSet]
    #: turns that the odd ranks have begun fewer than the others; 0 or less if they began the turn in which these are
    fewer: int


def left_loop(facts: Facts, compared: Comparison) -> LeftLoop | None:
    """The loop, if the histories part where the ranks are now, and no other loop lies between them."""
    ours, theirs = (facts.stack(rank)[::-1] for rank in compared.pair)
    if not _stand_there(facts, compared):
        return None
    fork = next((n for n, (mine, its) in enumerate(zip(ours, theirs, strict=False)) if mine != its), None)
    if fork is None or (ours[fork].file, ours[fork].function) != (theirs[fork].file, theirs[fork].function):
        return None
    inside = [
        (place, node)
        for place in theirs[fork:]
        for node in _loops_around(facts, place)
        if not (place == theirs[fork] and _spans(node, ours[fork].line))
    ]
    if len(inside) != 1:
        return None
    place, loop = inside[0]
    found = LeftLoop(loop, Site(place.file, loop.lineno, place.function), place, place == theirs[fork])
    return found if _entered_once(facts, compared, fork) else None


def compared_turns(facts: Facts, compared: Comparison, left: LeftLoop) -> Turns | None:
    """What the counters of all these ranks say; None if a rank's is not known, or they do not say one thing."""
    function = enclosing.function_around(facts.program, left.head)
    before = compared.before
    was_in = before is not None and any(place in left for place in (before.site, *before.path))
    if not left.in_frame or function is None or not was_in:
        return None
    found = (_by_counter(facts, compared, left, counter) for counter in turn_counters(function, left.loop))
    told = [one for one in found if one is not None]
    return told[0] if len({one.fewer for one in told}) == 1 else None


def is_a_turn_behind(facts: Facts, compared: Comparison) -> bool:
    """Whether the odd ranks stand in their next step in the turn, of a loop around both sides, before the one in which
    the others are: these have passed that step over, however they came there."""
    ours, theirs = (facts.stack(rank)[::-1] for rank in compared.pair)
    step = compared.odd_next
    if (
        step is None
        or step.site is None
        or not _is_at(facts, compared.pair[0], users_line(facts, compared.odd, step.site))
    ):
        return False
    fork = next((n for n, (mine, its) in enumerate(zip(ours, theirs, strict=False)) if mine != its), None)
    if fork is None or (ours[fork].file, ours[fork].function) != (theirs[fork].file, theirs[fork].function):
        return False
    function = enclosing.function_around(facts.program, ours[fork])
    both = [node for node in _loops_around(facts, ours[fork]) if _spans(node, theirs[fork].line)]
    if function is None or not both:
        return False
    begun = [_begun(facts, compared, both[-1], ours[fork], counter) for counter in turn_counters(function, both[-1])]
    return bool(begun) and all(sides is not None and sides[1] - sides[0] == 1 for sides in begun)


def _begun(facts: Facts, compared: Comparison, loop: Loop, place: Site, counter: TurnCounter) -> tuple[int, int] | None:
    """Turns that the odd ranks have begun, and the others; None if ranks of a side differ, or one's are not known."""
    head = Site(place.file, loop.lineno, place.function)
    found = []
    for side in (compared.odd, compared.reference):
        kept = [_kept(facts, rank, head, counter.name) for rank in side]
        turns = {None if at is None or value is None else counter.begun(value, at.line) for at, value in kept}
        one = next(iter(turns)) if len(turns) == 1 else None
        if one is None:
            return None
        found.append(one)
    return found[0], found[1]


def _by_counter(facts: Facts, compared: Comparison, left: LeftLoop, counter: TurnCounter) -> Turns | None:
    values: dict[Rank, int] = {}
    begun: dict[Rank, int] = {}
    for rank in (*compared.odd, *compared.reference):
        place, value = _kept(facts, rank, left.head, counter.name)
        outside = place is not None and place not in left
        if place is None or value is None or outside != (rank in compared.odd):
            return None
        turns = counter.after(value) if outside else counter.begun(value, place.line)
        if turns is None:
            return None
        values[rank], begun[rank] = value, turns
    ours, theirs = ({begun[rank] for rank in side} for side in (compared.odd, compared.reference))
    if len(theirs) != 1 or len(ours) != 1:
        return None
    by_value = {one: RankSet.of(rank for rank in values if values[rank] == one) for one in set(values.values())}
    return Turns(counter.name, left.head, by_value, min(theirs) - min(ours))


def _kept(facts: Facts, rank: Rank, head: Site, name: str) -> tuple[Site | None, int | None]:
    """Where the rank is in the only frame of the loop's function, and the counter's value there."""
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen else None
    every = enumerate(main.frames) if main else ()
    own = [(n, one) for n, one in every if (one.file, one.function) == (head.file, head.function)]
    if main is None or len(own) != 1:
        return None, None
    index, place = own[0]
    local = main.local(index, name)
    return place, local.value if local else None


def _stand_there(facts: Facts, compared: Comparison) -> bool:
    """Whether both sides are still where the histories part: the odd ranks in their next call, the others in the same
    turn, no later one.
    """
    odd_next, reference_next, right = compared.odd_next, compared.reference_next, compared.diff.right
    if odd_next is None or reference_next is None or right.count(reference_next) != 1:
        return False
    sides = ((compared.pair[0], compared.odd, odd_next), (compared.pair[1], compared.reference, right[-1]))
    return all(_is_at(facts, rank, users_line(facts, ranks, step.site)) for rank, ranks, step in sides if step.site)


def _is_at(facts: Facts, rank: Rank, site: Site) -> bool:
    return any(frames.same_place(frame, site) for frame in facts.stack(rank))


def _entered_once(facts: Facts, compared: Comparison, fork: int) -> bool:
    """Whether the ranks cannot have run the loop more often than they met where the odd rank is now: turns of an
    earlier run would have to be counted, too.
    """
    ours, theirs = (facts.stack(rank)[::-1] for rank in compared.pair)
    if not _may_run_again(facts, compared.pair[0], ours[: fork + 1]):
        return True
    if compared.odd_next is None or not compared.odd_next.collective:
        return False
    function = enclosing.function_around(facts.program, ours[fork])
    both = [node for node in _loops_around(facts, ours[fork]) if _spans(node, theirs[fork].line)]
    block = both[-1].body if both else function.body if function else []
    deeper = [enclosing.function_around(facts.program, place) for place in ours[fork + 1 :]]
    return _always(block, ours[fork].line, after=theirs[fork].line) and all(
        function is not None and _always(function.body, place.line)
        for function, place in zip(deeper, ours[fork + 1 :], strict=True)
    )


def _may_run_again(facts: Facts, rank: Rank, shared: Sequence[Site]) -> bool:
    """Whether a loop is around one of these frames, the outermost first, or a library has called them: it may call as
    often as it likes.
    """
    every = outside_torch(facts, rank)
    outer = every[every.index(shared[-1]) + 1 :] if shared[-1] in every else ()
    looped = any(_loops_around(facts, place) for place in shared)
    return looped or any(facts.is_library(frame.file) for frame in outer)


def _loops_around(facts: Facts, place: Site) -> list[Loop]:
    """The loops around a line in its function, the outermost first."""
    return [node for node in enclosing.enclosing(facts.program, place) if isinstance(node, enclosing.LOOPS)]


def _always(block: Iterable[ast.stmt], line: int, after: int = 0) -> bool:
    """Whether nothing leads past the statement on this line, once the one on the line `after` has begun."""
    for statement in block:
        if _spans(statement, line):
            if isinstance(statement, (ast.With, ast.AsyncWith)) and line >= statement.body[0].lineno:
                return _always(statement.body, line, after)
            return isinstance(statement, _SIMPLE)
        if any(True for _ in _leaving(statement, in_loop=False)) and not (statement.end_lineno or 0) < after:
            return False
    return False


def _leaving(node: ast.AST, *, in_loop: bool) -> Iterator[ast.AST]:
    """Jumps that end the turn of the loop around, leave it, or leave the function."""
    if isinstance(node, ast.Return) or (isinstance(node, _JUMPS) and not in_loop):
        yield node
    if not isinstance(node, (*enclosing.FUNCTIONS, ast.ClassDef, ast.Lambda)):
        inner = in_loop or isinstance(node, enclosing.LOOPS)
        for child in children(node):
            yield from _leaving(child, in_loop=inner)


def _spans(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def goes_over(facts: Facts, left: LeftLoop, head: Site) -> bool:
    """Whether the loop goes over nothing but a generator, and this yields once in every turn of its loop at `head`."""
    function = head.function.rpartition(".")[2]
    return function in (_called(left.loop), "__iter__") and _yields_always(facts, head)


def _called(loop: Loop) -> str:
    """The function whose result the loop goes over, by itself or counted: `reads` of `enumerate(reads(lane), 1)`."""
    over: ast.AST | None = None if isinstance(loop, ast.While) else loop.iter
    if isinstance(over, ast.Call) and last_name(over.func) in _AS_MANY and over.args:
        over = over.args[0]
    if isinstance(over, ast.Call):
        return last_name(over.func)
    return "__iter__" if isinstance(over, (ast.Name, ast.Attribute)) else ""


def _yields_always(facts: Facts, head: Site) -> bool:
    loop = next((node for node in _loops_around(facts, head) if node.lineno == head.line), None)
    function = enclosing.function_around(facts.program, head)
    if loop is None or function is None or any(True for part in loop.body for _ in _leaving(part, in_loop=False)):
        return False
    yields = [node for part in function.body for node in _yields(part)]
    direct = [part.value for part in loop.body if isinstance(part, (ast.Expr, ast.Assign))]
    return len(yields) == 1 and isinstance(yields[0], ast.Yield) and yields[0] in direct


def _yields(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        yield node
    for child in children(node):
        yield from _yields(child)
