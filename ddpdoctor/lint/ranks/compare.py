"""Comparison of two ranks: where their sequences of collectives diverge, and at which branch."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from ddpdoctor.lint.interpreter.trace import (
    ENDS,
    QUIT,
    BlockExit,
    Branch,
    Loop,
    Op,
    Trace,
    all_nodes,
    exits,
    operates,
    steps,
)
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence, leaving_step, names, walk_one
from ddpdoctor.lint.ranks.possible import may_agree
from ddpdoctor.lint.ranks.residual import Builder, Cell, EarlyExit, flat
from ddpdoctor.lint.values.truths import rank_decided, rank_local
from ddpdoctor.lint.values.values import WORLD, Atom, Symbol, Taint
from ddpdoctor.model.record import field, record
from ddpdoctor.program.sites import SourceSite

#: Most operations, loops and conditions in which two ranks are compared; longer lists are cut from the first difference
#: on. The time grows with the square, and thousands in one function are generated code.
COMPARED = 400


def divergences(trace: Trace, parts: Callable[[Branch], bool] = lambda _: True) -> list[CollectiveDivergence]:
    """All provable divergences in a function's trace, in the source order of their branches.

    `parts`: whether a branch on data of each rank is worth trying, because each trial walks the whole trace.
    """
    if not operates(trace):
        return []
    branches = [node for node, *_ in steps(trace) if isinstance(node, Branch)]
    found = _by_rank(trace, branches)
    ranks = range(WORLD if _differs(trace, branches) else 1)
    builder = Builder()
    tried: set[tuple[SourceSite, tuple[Atom, ...]]] = set()
    for branch in branches:
        # a rank takes the same side wherever it comes to this condition: the branch of a helper called at a hundred
        # places is one choice
        choice = (branch.site, branch.truth)
        if choice in tried or not rank_local(branch.truth) or _ends_job(branch) or not parts(branch):
            continue
        if exits((branch,)) or operates((branch,)):
            tried.add(choice)
            chosen, alone = _by_choice(trace, branch, builder, ranks)
            told = {(one.op.op, one.op.site) for one in found if alone}
            found.extend(one for one in chosen if (one.op.op, one.op.site) not in told)
    unique: dict[SourceSite, CollectiveDivergence] = {}
    for item in sorted(found, key=lambda d: (d.branch.site, d.op.site, d.chain)):
        unique.setdefault(item.branch.site, item)
    return list(unique.values())


def _ends_job(branch: Branch) -> bool:
    """Whether a rank that takes one of the sides fails there, and meets the others in nothing before."""
    sides = [side[-1] for side in (branch.then, branch.other) if side and not operates(side)]
    return any(isinstance(last, BlockExit) and last.kind in ENDS for last in sides)


def _by_rank(trace: Trace, branches: list[Branch]) -> list[CollectiveDivergence]:
    if not any(rank_decided(branch.truth) for branch in branches) and not _uneven_loops(trace):
        return []
    builder = Builder()
    found: list[CollectiveDivergence] = []
    seen: set[tuple[int, int]] = set()
    groups = {node.members for node in all_nodes(trace) if isinstance(node, Op) and node.members is not None}
    built: dict[tuple[int, frozenset[tuple[int, ...]]], tuple[Cell | None, _Side]] = {}

    def residual(rank: int, common: frozenset[tuple[int, ...]], other: int) -> tuple[Cell | None, _Side]:
        """Of one rank; the other matters only by the groups that hold both."""
        known = built.get((rank, common))
        if known is None:
            cell = builder.build(trace, rank, other)
            known = built[rank, common] = cell, _Side(rank, builder.left)
        return known

    for rank, other in ((a, b) for a in range(WORLD if groups else 1) for b in range(a + 1, WORLD)):
        common = frozenset(members for members in groups if rank in members and other in members)
        (one, left), (two, right) = residual(rank, common, other), residual(other, common, rank)
        numbers = (_number(one), _number(two))
        if numbers[0] != numbers[1] and numbers not in seen:
            seen.add(numbers)
            if may_agree(one, two):
                continue
            found.extend(_Comparison(left, right).compare(one, two))
    return found


def _uneven_loops(trace: Trace) -> bool:
    return any(isinstance(node, Loop) and len(node.times) > 1 for node in all_nodes(trace))


def _differs(trace: Trace, branches: list[Branch]) -> bool:
    """Whether anything in it differs between ranks."""
    if any(len(branch.truth) > 1 for branch in branches) or _uneven_loops(trace):
        return True
    return any(isinstance(node, Op) and node.members is not None for node in all_nodes(trace))


def _by_choice(trace: Trace, branch: Branch, builder: Builder, ranks: range) -> tuple[list[CollectiveDivergence], bool]:
    """What two ranks do that take the two sides of a branch, and whether only one rank of the job comes to it: then
    nobody decides otherwise, and what the others lack is the fault of the branch that only this one takes."""
    found: list[CollectiveDivergence] | None = None
    for rank in ranks:
        one = builder.build(trace, rank, rank, (branch, True))
        one_left, met = builder.left, builder.met
        two = builder.build(trace, rank, rank, (branch, False))
        # where the same was asked before and has ended the turn, one of the sides is never taken
        if _number(one) == _number(two) or not (met and builder.met):
            continue
        if found is not None:
            return found, False
        found = _Comparison(_Side(0, one_left), _Side(1, builder.left), local=branch).compare(one, two)[:1]
    return found or [], len(ranks) > 1


def _look_alike(lists: _Lists) -> bool:
    """Whether only conditions of which nothing is known differ: then there is nothing to show, and one may well be
    what the other is."""
    if names(lists.one) != names(lists.two):
        return False
    one, two = (
        [c.key for cell in cells for c in walk_one(cell) if isinstance(c.step, Op)] for cells in (lists.one, lists.two)
    )
    return one == two


def _number(cell: Cell | None) -> int:
    return 0 if cell is None else cell.number


@record(frozen=True, slots=True)
class _Side:
    """One of the two ranks, and how it left early."""

    rank: int
    exits: list[EarlyExit]


@record(frozen=True, slots=True)
class _Lists:
    """Two lists of cells that are compared: whole programs, or the bodies of a loop or a branch."""

    one: list[Cell]
    two: list[Cell]
    #: they stand in a loop
    looped: bool
    #: what a turn of the innermost loop around them runs on each of the ranks, themselves if they are its body
    turns: tuple[list[Cell], list[Cell]]

    def swapped(self) -> _Lists:
        return _Lists(self.two, self.one, self.looped, (self.turns[1], self.turns[0]))


@record(slots=True)
class _Comparison:
    left: _Side
    right: _Side
    local: Branch | None = None
    found: list[CollectiveDivergence] = field(default_factory=list)

    def compare(self, a: Cell | None, b: Cell | None) -> list[CollectiveDivergence]:
        self._lists(a, b, looped=False)
        return self.found

    def _lists(self, a: Cell | None, b: Cell | None, *, looped: bool, around: _Lists | None = None) -> None:
        """`around`: the lists of a branch of which these are the sides; None if they are not in a branch."""
        one, two = flat(a), flat(b)
        lists = _Lists(one, two, looped, around.turns if around is not None else (one, two))
        for i1, i2, j1, j2 in _differences([c.key for c in one], [c.key for c in two]):
            if j1 == j2:
                i1, i2 = _to_blame(one, i1, i2)
            elif i1 == i2:
                j1, j2 = _to_blame(two, j1, j2)
            if _either_leaves(one[i1:], two[j1:], {"raise"}):
                return
            self._region(one[i1:i2], two[j1:j2], lists)
            # a rank that ends in order leaves the others waiting, but nothing that follows can be compared
            if _either_leaves(one[i1:], two[j1:], {*ENDS, QUIT}):
                return

    def _region(self, one: list[Cell], two: list[Cell], lists: _Lists) -> None:
        rest_one, rest_two = list(one), list(two)
        for cell in one:
            partner = next((c for c in rest_two if _same_place(cell, c)), None)
            if partner is not None:
                rest_one.remove(cell)
                rest_two.remove(partner)
                inner = lists.looped or isinstance(cell.step, Loop)
                for side_one, side_two in zip(cell.sides, partner.sides, strict=True):
                    if _number(side_one) != _number(side_two):
                        around = None if isinstance(cell.step, Loop) else lists
                        self._lists(side_one, side_two, looped=inner, around=around)
        if _either_leaves(rest_one, rest_two, ENDS) or _serves(rest_one, rest_two) or _serves(rest_two, rest_one):
            return
        if self.local is None and _walks(rest_one) == _walks(rest_two) != frozenset():
            return
        for cell in rest_one:
            self._report(cell, self.left, self.right, lists)
        for cell in rest_two:
            self._report(cell, self.right, self.left, lists.swapped())

    def _report(self, cell: Cell, runs: _Side, lacks: _Side, lists: _Lists) -> None:
        first = next((c for c in walk_one(cell) if isinstance(c.step, Op)), None)
        if first is None or not isinstance(first.step, Op):
            leaving = leaving_step(cell)
            if lists.looped and leaving is not None:
                guard, step = _left_through(leaving[0], leaving[1], runs.exits)
                if guard is None and isinstance(cell.step, BlockExit) and self.local is not None:
                    # both may leave under a condition that both have, but this one leaves in any case
                    guard, step = self.local, _exit_of(self.local, step)
                if guard is not None:
                    self._report_break(step, guard, lacks, runs, lists)
            return
        left: BlockExit | None = None
        branch = first.guard
        if branch is None:
            earlier = [e for e in lacks.exits if _skips(e, first)]
            if not earlier:
                return
            branch, left, *_ = _passing(earlier, first)
        if left is None and _look_alike(lists):
            return
        mismatched = left is None and operates(branch.then) and operates(branch.other)
        self.found.append(
            CollectiveDivergence(
                branch, first.step, first.chain, runs.rank, lacks.rank, left, mismatched,
                names(lists.one), names(lists.two), lists.looped, self.local is not None,
            )
        )  # fmt: skip

    def _report_break(self, step: BlockExit, guard: Branch, runs: _Side, lacks: _Side, lists: _Lists) -> None:
        """`lacks` leaves the loop at its end; `runs` begins another iteration."""
        left, goes_on = lists.turns
        again = next((c for c in _surely(goes_on) if isinstance(c.step, Op)), None)
        if again is not None and isinstance(again.step, Op):
            self.found.append(
                CollectiveDivergence(
                    guard, again.step, again.chain, runs.rank, lacks.rank, step, False,
                    names(goes_on), names(left), True, self.local is not None,
                )
            )  # fmt: skip


def _differences(one: list[Any], two: list[Any]) -> list[tuple[int, int, int, int]]:
    """Where two lists of keys differ: (start, end) in one list, (start, end) in the other."""
    start = 0
    if max(len(one), len(two)) > COMPARED:
        start = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    ends = (min(len(one), start + COMPARED), min(len(two), start + COMPARED))
    cut = ends != (len(one), len(two))
    from difflib import SequenceMatcher  # most files have nothing to compare

    matcher = SequenceMatcher(None, one[start : ends[0]], two[start : ends[1]], autojunk=False)
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        # a difference at the cut may have its match behind the cut
        if tag != "equal" and not (cut and (start + i2 == ends[0] or start + j2 == ends[1]))
    ]


def _to_blame(cells: list[Cell], start: int, end: int) -> tuple[int, int]:
    """If `barrier` is both under a branch and after it, the surplus one is the first, not the second."""
    i, j = start, end
    while i > 0 and cells[i].guard is None and cells[i - 1].key == cells[j - 1].key:
        i, j = i - 1, j - 1
    if cells[i].guard is not None:
        return i, j
    i, j = start, end
    while j < len(cells) and cells[i].guard is None and cells[i].key == cells[j].key:
        i, j = i + 1, j + 1
    return (start, end) if cells[i].guard is None else (i, j)


def _serves(server: list[Cell], client: list[Cell]) -> bool:
    """Whether the loop ends when it is told to, and can repeat as often as the other rank has operations for it."""
    answered = {
        c.step.op for cell in server if isinstance(cell.step, Loop) and _ends_itself(cell)
        for c in walk_one(cell) if isinstance(c.step, Op)
    }  # fmt: skip
    asked = {c.step.op for cell in client for c in walk_one(cell) if isinstance(c.step, Op)}
    return bool(asked) and asked <= answered


def _walks(cells: list[Cell]) -> frozenset[tuple[object, ...]]:
    """The operations, if all are in loops of unknown length: ranks that iterate over two lists, perhaps of equal
    length.

    Empty if an operation is outside, or if a loop's length is the rank's own.
    """
    found: set[tuple[object, ...]] = set()
    for cell in cells:
        count = cell.key[1] if isinstance(cell.step, Loop) else None
        inner = {c.key for c in walk_one(cell) if isinstance(c.step, Op)}
        if inner and not (isinstance(count, Symbol) and count.taint <= Taint.UNKNOWN):
            return frozenset()
        found |= inner
    return frozenset(found)


def _ends_itself(loop: Cell) -> bool:
    return any(isinstance(c.step, BlockExit) and c.step.kind in ("break", "return") for c in walk_one(loop))


def _surely(cells: list[Cell]) -> list[Cell]:
    """Cells that an iteration reaches whatever its unknown conditions are, including those in loops, and those that it
    reaches if its own data says so, which no other rank decides."""
    found: list[Cell] = []
    for cell in cells:
        found.append(cell)
        if isinstance(cell.step, Loop):
            found.extend(_surely(flat(cell.sides[0])))
        elif isinstance(cell.step, Branch) and rank_local(cell.step.truth):
            found.extend(inner for side in cell.sides for inner in _surely(flat(side)))
    return found


def _left_through(step: BlockExit, guard: Branch | None, own: list[EarlyExit]) -> tuple[Branch | None, BlockExit]:
    """The branch through which a rank left a loop, and how: `break`, or what ends more than the loop. A return that is
    outside the loop did not leave it."""
    if step.kind in ("break", QUIT):
        return guard, step
    inside = ((a, e) for a, e, chain, _ in own if e.kind == "return" and _comes_by(step.site, (*chain, e.site)))
    return next(inside, (None, step)) if step.kind == "return" else (None, step)


def _exit_of(branch: Branch, step: BlockExit) -> BlockExit:
    """How ranks leave through a branch, of the kind of `step`; that itself if the branch only decides it."""
    own = (node for node, *_ in steps((branch,)) if isinstance(node, BlockExit) and node.kind == step.kind)
    return next(own, step)


def _passing(exits: list[EarlyExit], cell: Cell) -> EarlyExit:
    """The exit by which a rank passes over an operation: the last that is written before it, and any in a loop that
    begins with the operation."""
    lines = [_line_before(one, cell) for one in exits]
    return exits[lines.index(max(lines))]


def _line_before(exit_: EarlyExit, cell: Cell) -> int:
    """Where a rank leaves in the function that the exit and the operation are in, 0 if not before the operation."""
    left, reached = (*exit_[2], exit_[1].site), (*cell.chain, cell.step.site)
    here, there = next(((a, b) for a, b in zip(left, reached, strict=False) if a != b), (left[-1], reached[-1]))
    return here.line if here.file == there.file and here.line < there.line else 0


def _skips(exit_: EarlyExit, cell: Cell) -> bool:
    """Whether who leaves there may miss the operation: leaving a function, or a loop in it, skips nothing outside, and
    leaving where nothing is repeated nothing that is written before."""
    _, step, chain, loop = exit_
    if step.kind in ("break", "continue") and loop is not None and not _is_in(loop, cell):
        return False
    if step.kind == "return" and loop is None and not _line_before(exit_, cell):
        return False
    return step.kind == QUIT or (step.kind not in ENDS and cell.chain[: len(chain)] == chain)


def _is_in(loop: SourceSite, cell: Cell) -> bool:
    """Whether an operation is in a loop, or in what the loop calls."""
    return _comes_by(loop, (*cell.chain, cell.step.site))


def _comes_by(part: SourceSite, way: tuple[SourceSite, ...]) -> bool:
    """Whether a call that leads somewhere, or the place itself, is in a part of the source."""
    return any(site.file == part.file and part.line <= site.line <= part.end_line for site in way)


def _same_place(a: Cell, b: Cell) -> bool:
    if isinstance(a.step, Branch) and isinstance(b.step, Branch):
        return a.key[1] == b.key[1]
    if isinstance(a.step, Loop) and isinstance(b.step, Loop):
        return a.step.site == b.step.site and a.key[1] == b.key[1]
    return False


def _either_leaves(one: list[Cell], two: list[Cell], kinds: AbstractSet[str]) -> bool:
    """Whether a rank leaves there in one of these ways; after a raise the launcher ends the others as well."""
    firsts = (cells[0].step for cells in (one, two) if cells)
    return any(isinstance(step, BlockExit) and step.kind in kinds for step in firsts)
