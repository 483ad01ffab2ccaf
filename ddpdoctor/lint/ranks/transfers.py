"""Sends and receives between two ranks: which of them can never end.

Both ends of a transfer wait for each other, whatever is sent (checked with gloo of torch 2.13: a ring of sends of 16
bytes waits as one of 40 MB does). A rank that has posted a transfer without waiting goes on. A condition that is equal
on all ranks and not decided is taken to lead to the transfers; what a rank does after any other one is not known, and
who waits for such a rank is not stuck.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from ddpdoctor.lint.interpreter.trace import (
    ENDS,
    BlockExit,
    Branch,
    Loop,
    Op,
    Scope,
    Trace,
    Transfer,
    exits,
    operates,
    transfers,
)
from ddpdoctor.lint.ranks.residual import UNROLLED
from ddpdoctor.lint.values.values import WORLD, Symbol, Taint
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import field, record
from ddpdoctor.program.sites import SourceSite

#: most steps of one rank that are looked at
_MOST = 2000
#: sizes of a job: a program that is right for one of them may be made for it
_SIZES = (WORLD, 3, 2)


class Waiting(NamedTuple):
    """A rank that waits for ever."""

    rank: int
    #: "send", "recv", or a collective
    op: str
    #: the rank that it sends to or receives from, None for a collective
    peer: int | None
    site: SourceSite
    #: calls that lead there, outermost first
    chain: tuple[SourceSite, ...]


@record(frozen=True, slots=True)
class Stuck:
    """Ranks that wait for one another, or for ranks that have ended; those that wait in transfers come first."""

    waiting: tuple[Waiting, ...]
    #: ranks that have ended, of those that somebody waits for
    ended: tuple[int, ...]
    #: conditions of which nothing shows that they can hold, on the way there
    unsure: tuple[str, ...]


class _Step(NamedTuple):
    op: str
    peer: int
    tag: object
    members: tuple[int, ...]
    site: SourceSite
    chain: tuple[SourceSite, ...]


class _LeftError(Exception):
    """A rank leaves a loop, a call or the program."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class _UndecidedError(Exception):
    """What follows is not known."""


def stuck(trace: Trace, *, whole: bool, tags: Collection[bool] = (True,)) -> Stuck | None:
    """The ranks that can never leave a transfer, whatever the size of the job.

    Args:
        trace: What the ranks do.
        whole: Whether nothing follows the trace.
        tags: Whether the backend tells transfers apart by their tags; both where that is not known.
    """
    if not transfers(trace):
        return None
    found = [left(trace, whole=whole, size=size, tagged=tagged) for tagged in tags for size in _SIZES]
    return found[0] if all(found) else None


def left(trace: Trace, *, whole: bool, size: int = WORLD, tagged: bool = True) -> Stuck | None:
    """The ranks that can never leave a transfer in a job of the first so many ranks."""
    return _Job([_Program(rank, whole=whole, tagged=tagged).following(trace) for rank in range(size)]).run()


@record(slots=True)
class _Program:
    """What one rank does, as far as it is known."""

    rank: int
    #: its last step is its end
    whole: bool
    #: transfers are told apart by their tags
    tagged: bool
    steps: list[_Step] = field(default_factory=list)
    chain: list[SourceSite] = field(default_factory=list)
    #: the sides that were taken of conditions, by symbol
    assumed: dict[int, bool] = field(default_factory=dict)
    #: those of which nothing shows that they can hold
    unsure: list[str] = field(default_factory=list)

    def following(self, trace: Trace) -> _Program:
        """The program with the steps of this rank in a trace."""
        try:
            self._walk(trace)
        except _LeftError as left:
            # a rank that fails ends the job
            self.whole = self.whole and left.kind not in ENDS
        except _UndecidedError:
            self.whole = False
        return self

    def _walk(self, nodes: Trace) -> None:
        for node in nodes:
            if isinstance(node, Op):
                self._add(_Step(node.op, -1, node.detail, node.members or tuple(range(WORLD)), node.site, ()))
            elif isinstance(node, Transfer):
                self._transfer(node)
            elif isinstance(node, Branch):
                self._branch(node)
            elif isinstance(node, Loop):
                self._loop(node)
            elif isinstance(node, Scope):
                self._scope(node)
            elif isinstance(node, BlockExit) and node.kind != "yield":
                raise _LeftError(node.kind)

    def _add(self, step: _Step) -> None:
        if len(self.steps) > _MOST:
            raise _UndecidedError
        if self.rank in step.members:
            self.steps.append(step._replace(chain=tuple(self.chain)))

    def _transfer(self, node: Transfer) -> None:
        peer = node.peers[self.rank] if len(node.peers) > 1 else (*node.peers, None)[0]
        tag = (node.tags[self.rank] if len(node.tags) > 1 else node.tags[0]) if self.tagged else 0
        if type(peer) is not int or not 0 <= peer < WORLD or isinstance(tag, Symbol):
            raise _UndecidedError
        if peer == self.rank and not self.whole:
            # a function for the other ranks: this one does not come here
            raise _UndecidedError
        self._add(_Step(node.op, peer, tag, (self.rank,), node.site, ()))

    def _branch(self, node: Branch) -> None:
        atom = node.truth[self.rank] if len(node.truth) > 1 else node.truth[0]
        if not isinstance(atom, Symbol):
            self._walk(node.then if atom else node.other)
        elif any(map(_matters, (node.then, node.other))):
            self._walk(node.then if self._assumed(node, atom) else node.other)

    def _assumed(self, node: Branch, atom: Symbol) -> bool:
        """The side that all ranks take of a condition equal on them: the one with transfers, or that goes on."""
        if len(node.truth) > 1 or atom.taint > Taint.UNKNOWN:
            raise _UndecidedError
        known = self.assumed.get(atom.key)
        if known is not None:
            return known is not atom.negated
        then, other = map(transfers, (node.then, node.other))
        if then and other:
            raise _UndecidedError
        side = then if then or other else not exits(node.then)
        if atom.taint is Taint.UNKNOWN:
            self.unsure.append(node.text if side else f"not {node.text}")
        self.assumed[atom.key] = side is not atom.negated
        return side

    def _loop(self, node: Loop) -> None:
        count = node.times[self.rank] if len(node.times) > 1 else node.times[0]
        # one iteration of many that are alike stands for all
        times = min(count, UNROLLED) if type(count) is int else 1
        for _ in range(times):
            try:
                self._walk(node.body)
            except _LeftError as left:
                if left.kind == "break":
                    return
                if left.kind != "continue":
                    raise
        if node.endless:
            raise _UndecidedError

    def _scope(self, node: Scope) -> None:
        self.chain.append(node.site)
        try:
            self._walk(node.body)
        except _LeftError as left:
            if left.kind != "return":
                raise
        self.chain.pop()


#: operation, from, to, tag
_Way = tuple[str, int, int, object]


@record(slots=True)
class _Job:
    """Ranks that go on as far as they can."""

    programs: list[_Program]
    at: list[int] = field(default_factory=list)
    #: the number of the transfer that each rank waits in, on its way; None before it has begun it
    begun: list[int | None] = field(default_factory=list)
    #: transfers begun, by (operation, from, to, tag): the n-th send of a way meets its n-th receive
    ways: Counter[_Way] = field(default_factory=Counter)

    def run(self) -> Stuck | None:
        """Who is left where nobody can go on."""
        ranks = range(len(self.programs))
        self.at, self.begun = [0 for _ in ranks], [None for _ in ranks]
        while sum(map(self._advance, ranks)):
            pass
        return self._stuck()

    def _step(self, rank: int) -> _Step | None:
        steps = self.programs[rank].steps
        return steps[self.at[rank]] if self.at[rank] < len(steps) else None

    def _advance(self, rank: int) -> bool:
        """Whether the rank goes on, perhaps with others."""
        step = self._step(rank)
        if step is None:
            return False
        if step.peer < 0:
            return self._meet(step)
        own, other = _ends(rank, step)
        number = self.begun[rank]
        if number is None:
            number = self.begun[rank] = self.ways[own]
            self.ways[own] += 1
        if not step.op.startswith("i") and self.ways[other] <= number:
            return False
        self.at[rank], self.begun[rank] = self.at[rank] + 1, None
        return True

    def _meet(self, step: _Step) -> bool:
        members = [rank for rank in step.members if rank < len(self.programs)]
        if any(not _same(self._step(rank), step) for rank in members):
            return False
        for rank in members:
            self.at[rank] += 1
        return True

    def _stuck(self) -> Stuck | None:
        waits = {rank: step for rank in range(len(self.programs)) if (step := self._step(rank)) is not None}
        before = -1
        while len(waits) != before:
            before = len(waits)
            waits = {rank: step for rank, step in waits.items() if self._never(step, waits)}
        found = [
            Waiting(rank, step.op, step.peer if step.peer >= 0 else None, step.site, step.chain)
            for rank, step in waits.items()
        ]
        if not any(one.peer is not None for one in found):
            return None
        ended = tuple(sorted({one.peer for one in found if one.peer is not None and self._is_gone(one.peer)}))
        waiting = tuple(sorted(found, key=lambda one: (one.peer is None, one.rank)))
        return Stuck(waiting, ended, tuple(self.programs[waiting[0].rank].unsure))

    def _never(self, step: _Step, waits: Iterable[int]) -> bool:
        """Whether what a rank waits for never comes, if these ranks never go on."""
        if step.peer >= 0:
            return step.peer >= len(self.programs) or step.peer in waits or self._has_ended(step.peer)
        others = [m for m in step.members if m < len(self.programs) and not _same(self._step(m), step)]
        # who is in another collective may come to this one by mistake
        return any(
            self._has_ended(m) or (m in waits and (there := self._step(m)) is not None and there.peer >= 0)
            for m in others
        )

    def _is_gone(self, rank: int) -> bool:
        return rank < len(self.programs) and self._has_ended(rank)

    def _has_ended(self, rank: int) -> bool:
        return self._step(rank) is None and self.programs[rank].whole


def _matters(side: Trace) -> bool:
    return operates(side) or transfers(side) or exits(side)


def _ends(rank: int, step: _Step) -> tuple[_Way, _Way]:
    """What a rank begins, and what has to be begun for it to end."""
    tag = step.tag
    if step.op.endswith("send"):
        return ("send", rank, step.peer, tag), ("recv", rank, step.peer, tag)
    return ("recv", step.peer, rank, tag), ("send", step.peer, rank, tag)


def _same(step: _Step | None, other: _Step) -> bool:
    return (
        step is not None and step.peer < 0 and (step.op, step.tag, step.members) == (other.op, other.tag, other.members)
    )
