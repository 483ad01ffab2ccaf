"""The residual: a trace as one rank runs it, with branches on the rank decided and the rest of the program after each
early exit.

Residuals are linked lists of cells whose `number` is equal exactly if all that follows is equal, so two ranks run the
same collectives exactly if their first cells have the same number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ddpdoctor.lint.interpreter.trace import (
    ENDS,
    BlockExit,
    Branch,
    FileEvent,
    GroupEnd,
    Loop,
    Node,
    Op,
    Scope,
    Trace,
    Transfer,
    all_nodes,
    exits,
    leaves,
    operates,
    steps,
)
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.truths import implied, outcome, own_parts, rank_decided
from ddpdoctor.lint.values.values import Atom, Symbol
from ddpdoctor.model.record import field, record
from ddpdoctor.program.sites import SourceSite

#: most iterations of a loop that are gone through one by one
UNROLLED = 8

#: what a cell stands for
Step = Op | Branch | Loop | BlockExit


@record(eq=False, slots=True)
class Cell:
    """One step and the steps that follow it."""

    number: int
    #: equal for steps that match across ranks
    key: tuple[object, ...]
    step: Step
    #: calls that lead to the step, outermost first
    chain: tuple[SourceSite, ...]
    #: the innermost branch on the rank that chose this step
    guard: Branch | None
    #: for branches and loops
    sides: tuple[Cell | None, ...]
    rest: Cell | None


#: the branch, the exit, the calls that lead to it, outermost first, and the innermost loop around it
EarlyExit = tuple[Branch, BlockExit, tuple[SourceSite, ...], SourceSite | None]


@record(frozen=True, slots=True)
class _Path:
    """The way on which a rank comes to a step."""

    #: where each kind of exit leads from here
    targets: Mapping[str, Cell | None] = field(default_factory=dict)
    #: the open calls, outermost first
    chain: tuple[SourceSite, ...] = ()
    #: the innermost branch on the rank
    guard: Branch | None = None
    #: the sides that were taken of unknown conditions, by symbol
    assumed: Mapping[int, bool] = field(default_factory=dict)
    #: the innermost loop
    loop: SourceSite | None = None

    def under(self, guard: Branch | None) -> _Path:
        return _Path(self.targets, self.chain, guard, self.assumed, self.loop)

    def without(self, keys: Collection[int]) -> _Path:
        """The path on which nothing is assumed of these conditions."""
        assumed = {key: truth for key, truth in self.assumed.items() if key not in keys}
        return _Path(self.targets, self.chain, self.guard, assumed, self.loop)

    def assuming(self, key: int, truth: bool) -> _Path:
        return _Path(self.targets, self.chain, self.guard, {**self.assumed, key: truth}, self.loop)


@record(slots=True)
class Builder:
    """Builds residuals that share one numbering, so that they can be compared."""

    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    rank: int = 0
    #: the two ranks compared: only groups that contain both count
    both: frozenset[int] = frozenset()
    #: the branch under trial and the side that this rank takes
    chosen: tuple[Branch, bool] | None = None
    #: the loops around that branch, by their `id`, and what it asks of this rank: other loops ask it of their own turns
    around: frozenset[int] = frozenset()
    asked: frozenset[int] = frozenset()
    #: whether the rank comes to that branch
    met: bool = False
    #: branches on the rank through which this rank left early
    left: list[EarlyExit] = field(default_factory=list)
    #: the trace that was built last, and whether control can leave its branches, by their `id`
    trace: Trace = ()
    leaving: dict[int, bool] = field(default_factory=dict)
    #: the loops around each branch, by its place and condition
    loops: dict[tuple[SourceSite, tuple[Atom, ...]], frozenset[int]] = field(default_factory=dict)
    #: the branch under which each open call was entered: a return from that call does not leave that branch
    entered: list[Branch | None] = field(default_factory=lambda: [None])

    def build(self, trace: Trace, rank: int, other: int, chosen: tuple[Branch, bool] | None = None) -> Cell | None:
        """The residual of `rank` for a comparison with `other`; `left` then holds its early exits."""
        if trace is not self.trace:
            self.trace, self.leaving, self.loops = trace, {}, _loops_around(trace)
        self.both = frozenset({rank, other})
        self.rank, self.chosen, self.met, self.left = rank, chosen, False, []
        atom = _atom(chosen[0], rank) if chosen is not None else None
        assumed = implied(atom, chosen[1]) if isinstance(atom, Symbol) and chosen is not None else {}
        if chosen is not None:
            self.around = self.loops[chosen[0].site, chosen[0].truth]
            self.asked = own_parts(atom) & assumed.keys()
        return self._sequence(trace, None, _Path(assumed=assumed))

    def _sequence(self, nodes: Trace, rest: Cell | None, path: _Path) -> Cell | None:
        if len(nodes) < 2:  # most sides of branches
            return self._node(nodes[0], rest, path) if nodes else rest
        for node, here in reversed([*zip(nodes, self._paths(nodes, path), strict=False)]):
            rest = self._node(node, rest, here)
        return rest

    def _paths(self, nodes: Trace, path: _Path) -> Iterator[_Path]:
        """The path at each node that is reached: after `if x: return`, `x` is false on it."""
        for node in nodes:
            yield path
            if not isinstance(node, Branch) or leaves(node.then) is leaves(node.other):
                continue
            side, _ = self._decide(node, path.assumed)
            if side is not None and leaves(node.then if side else node.other):
                return
            atom = _atom(node, self.rank)
            if side is None and isinstance(atom, Symbol):
                path = path.assuming(atom.key, leaves(node.other) is not atom.negated)

    def _node(self, node: Node, rest: Cell | None, path: _Path) -> Cell | None:
        if isinstance(node, Op):
            if node.members is not None and not self.both <= set(node.members):
                return rest
            return self._cell(("op", node.op, node.members, node.detail), node, path, rest)
        if isinstance(node, BlockExit):
            return rest if node.kind == "yield" else self._exit(node, path)
        if isinstance(node, Scope):
            inner = _Path({**path.targets, "return": rest}, (*path.chain, node.site), path.guard, path.assumed)
            self.entered.append(path.guard)
            cell = self._sequence(node.body, rest, inner)
            self.entered.pop()
            return cell
        if isinstance(node, Loop):
            return self._loop(node, rest, path)
        if isinstance(node, (FileEvent, GroupEnd, Transfer)):
            return rest
        return self._alt(node, rest, path)

    def _exit(self, node: BlockExit, path: _Path) -> Cell | None:
        if path.guard is not None and path.guard is not self.entered[-1]:
            self.left.append((path.guard, node, path.chain, path.loop))
        if node.kind in path.targets:
            return path.targets[node.kind]
        if node.kind == "return":
            return None
        return self._cell(("exit", node.kind), node, path, None)

    def _loop(self, node: Loop, rest: Cell | None, path: _Path) -> Cell | None:
        count = node.times[self.rank] if len(node.times) > 1 else node.times[0]
        if count == 0 and not isinstance(count, Symbol):
            return rest
        if self.asked and id(node) not in self.around:
            path = path.without(self.asked)
        if type(count) is int and 0 < count <= UNROLLED and not exits(node.body):
            # as often as the rank's number says: the iterations one by one, under the loop in the place of a branch
            guard = Branch(node.times, node.body, (), node.site, node.text, Tag.RANK)
            for _ in range(count):
                rest = self._sequence(node.body, rest, path.under(guard))
            return rest
        leave = self._cell(("exit", "return"), BlockExit("return", node.site), path.under(None), None)
        inside = _Path({"continue": None, "return": leave}, path.chain, path.guard, path.assumed, node.site)
        body = self._sequence(node.body, None, inside)
        if _raises(body):
            return body  # the job ends in the first iteration
        if node.endless:
            body = _busy(body)
        if _has_return(body) and _raises_at_last(rest):
            # a retry loop that returns on success or raises: only the runs that return continue
            rest = path.targets.get("return")
        # a return that leads to the same place as the end of the loop
        lands = "return" in path.targets and _number(path.targets["return"]) == _number(rest)
        nowhere = lands and not operates(node.body)
        if body is None or (not has_op(body) and (nowhere or not _has_return(body))):
            return rest
        return self._turned(self._cell(("loop", count, body.number), node, path, rest, (body,)))

    def _turned(self, loop: Cell) -> Cell:
        """What runs `w` in a loop and then once more, as once and then the loop: the same operations in the same order,
        of which other ranks may run the first before their loop."""
        body, behind = flat(loop.sides[0]), loop.rest
        passed: list[Cell] = []
        for cell in body:
            if behind is None or behind.key != cell.key or not isinstance(cell.step, Op):
                return loop
            passed.append(behind)
            behind = behind.rest
        first = self._turned(self._before(loop, behind))
        for cell in reversed(passed):
            first = self._before(cell, first)
        return first

    def _before(self, cell: Cell, rest: Cell | None) -> Cell:
        """The same step before other steps."""
        number = self._numbered(cell.key, rest)
        return Cell(number, cell.key, cell.step, cell.chain, cell.guard, cell.sides, rest)

    def _alt(self, node: Branch, rest: Cell | None, path: _Path) -> Cell | None:
        side, deciding = self._decide(node, path.assumed)
        if side is not None:
            return self._sequence(node.then if side else node.other, rest, path.under(node) if deciding else path)
        if path.guard is None and _joins_once(node):
            return rest
        symbol = _atom(node, self.rank)
        unproved = self._unproved(node, symbol, path.guard)
        if unproved is not None:
            return self._sequence(unproved, rest, path)
        outer = path.guard
        if self.chosen is None and rank_decided(node.truth):
            path = path.under(node)
        leaves = self._leaves(node)
        tail = rest if leaves else None
        then = self._sequence(node.then, tail, path.assuming(symbol.key, not symbol.negated))
        other = self._sequence(node.other, tail, path.assuming(symbol.key, symbol.negated))
        after = None if leaves else rest
        if symbol.negated:
            then, other = other, then
        # a side that raises ends the job: only runs that continue are compared
        if _raises(then) or _raises(other):
            keep = other if _raises(then) else then
            return keep if leaves else self._append(keep, rest)
        if after is not None and isinstance(after.step, Branch) and after.key[1] == symbol.key:
            # the same unknown tested twice in a row: one branch with both bodies
            then, other = self._append(then, after.sides[0]), self._append(other, after.sides[1])
            after = rest = after.rest
        if _number(then) == _number(other):
            # reported where it occurs first
            first = other if symbol.negated else then
            return first if leaves else self._append(first, rest)
        alt = self._cell(("alt", symbol.key, _number(then), _number(other)), node, path, after, (then, other))
        return self._begun(alt, symbol, outer)

    def _leaves(self, node: Branch) -> bool:
        """Whether control can leave the branch; the same branch is met on many ways."""
        known = self.leaving.get(id(node))
        if known is None:
            known = self.leaving[id(node)] = exits(node.then) or exits(node.other)
        return known

    def _begun(self, alt: Cell, symbol: Symbol, guard: Branch | None) -> Cell | None:
        """The branch after the steps with which both of its sides begin: those run whatever the condition is."""
        then, other = alt.sides
        if then is None or other is None or then.key != other.key or not isinstance(then.step, Op):
            return alt
        first = other if symbol.negated else then
        sides = (then.rest, other.rest)
        if _number(sides[0]) == _number(sides[1]):
            behind = self._append(sides[0], alt.rest)
        else:
            key = ("alt", symbol.key, _number(sides[0]), _number(sides[1]))
            inner = Cell(self._numbered(key, alt.rest), key, alt.step, alt.chain, alt.guard, sides, alt.rest)
            behind = self._begun(inner, symbol, guard)
        return Cell(self._numbered(first.key, behind), first.key, first.step, first.chain, guard, (), behind)

    def _unproved(self, node: Branch, symbol: Symbol, guard: Branch | None) -> Trace | None:
        """The side to follow of a condition inside a branch on the rank, if the other side is not proven to be taken.

        None for any other condition.
        """
        if guard is None:
            return None
        if node.tags & Tag.EXCEPTION:
            # what a rank does after an exception is not compared
            return node.other
        if self.rank == 0 and heuristics.IS_FIRST_HERE.found_in(node.text):
            # the first rank of the job is the first of its machine
            return node.other if symbol.negated else node.then
        if node.tags & Tag.ASKS_SHARDED and guard is self.entered[-1]:
            # a helper for any kind of data, called on this rank alone: perhaps because this rank has all the data
            return node.then if symbol.negated else node.other
        leaves = exits(node.then)
        if node.tags & Tag.IN_GROUP and leaves != exits(node.other):
            # this rank's number in a group: rank 0 is the first of every group that it is in
            return node.other if leaves else node.then
        return None

    def _append(self, head: Cell | None, rest: Cell | None) -> Cell | None:
        """Append `rest`; if both sides of a branch do the same, do it once without the branch."""
        if head is None:
            return rest
        whole = self._before(head, self._append(head.rest, rest))
        return self._turned(whole) if isinstance(head.step, Loop) else whole

    def _decide(self, node: Branch, assumed: Mapping[int, bool]) -> tuple[bool | None, bool]:
        """(the side that this rank takes, whether it thereby differs from other ranks)."""
        if self.chosen is not None and node.site == self.chosen[0].site and node.truth == self.chosen[0].truth:
            self.met = True
            return self.chosen[1], True
        atom = _atom(node, self.rank)
        if isinstance(atom, Symbol):
            return outcome(atom, assumed), False
        return bool(atom), self.chosen is None and rank_decided(node.truth)

    def _cell(
        self, key: tuple[object, ...], step: Step, path: _Path, rest: Cell | None, sides: tuple[Cell | None, ...] = ()
    ) -> Cell:
        return Cell(self._numbered(key, rest), key, step, path.chain, path.guard, sides, rest)

    def _numbered(self, key: tuple[object, ...], rest: Cell | None) -> int:
        whole = (*key, _number(rest))
        return self.numbers.setdefault(whole, len(self.numbers) + 1)


def _loops_around(trace: Trace) -> dict[tuple[SourceSite, tuple[Atom, ...]], frozenset[int]]:
    """The loops around each branch, by its place and condition, wherever it stands."""
    found: dict[tuple[SourceSite, tuple[Atom, ...]], frozenset[int]] = {}
    for node, _, _, loops in steps(trace):
        if isinstance(node, Branch):
            place = node.site, node.truth
            found[place] = found.get(place, frozenset()).union(id(loop) for loop, _ in loops)
    return found


def _joins_once(branch: Branch) -> bool:
    """`if not dist.is_initialized(): dist.init_process_group()`: at the first of such places, wherever that is on a
    rank's way, and at no other."""
    if not heuristics.ASKS_FOR_GROUP.found_in(branch.text) or exits((branch,)):
        return False
    ops = {node.op for node in all_nodes((branch,)) if isinstance(node, Op)}
    return ops == {"init_process_group"}


def _atom(branch: Branch, rank: int) -> Atom:
    """A branch's condition on a rank."""
    return branch.truth[rank] if len(branch.truth) > 1 else branch.truth[0]


def _busy(body: Cell | None) -> Cell | None:
    """The body of an iteration with operations, if other iterations may end before any: a rank that polls.

    Iterations of such a loop are not counted, so one rank may have more of them than the others.
    """
    while body is not None and isinstance(body.step, Branch) and body.rest is None and None in body.sides:
        body = next((side for side in body.sides if side is not None), None)
    return body


def _raises(cell: Cell | None) -> bool:
    return cell is not None and isinstance(cell.step, BlockExit) and cell.step.kind in ENDS


def _raises_at_last(cell: Cell | None) -> bool:
    while cell is not None and cell.rest is not None:
        cell = cell.rest
    return _raises(cell)


def _number(cell: Cell | None) -> int:
    return 0 if cell is None else cell.number


def has_op(cell: Cell | None) -> bool:
    """Whether the cells contain an operation."""
    return any(isinstance(c.step, Op) for c in walk(cell))


def _has_return(cell: Cell | None) -> bool:
    return any(isinstance(c.step, BlockExit) and c.step.kind == "return" for c in walk(cell))


def flat(cell: Cell | None) -> list[Cell]:
    """The cell and all after it, without those inside them."""
    cells: list[Cell] = []
    while cell is not None:
        cells.append(cell)
        cell = cell.rest
    return cells


def walk(cell: Cell | None) -> list[Cell]:
    """All cells, both sides included, in order; each once."""
    seen: set[int] = set()
    found: list[Cell] = []
    stack = [cell]
    while stack:
        top = stack.pop()
        if top is None or id(top) in seen:
            continue
        seen.add(id(top))
        found.append(top)
        stack.append(top.rest)
        stack.extend(reversed(top.sides))
    return found
