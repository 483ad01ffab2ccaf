"""Unfinished operations in the ranks' recorders: which other ranks have entered them, and in which group."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from ddpdoctor.diagnose.digest import operations
from ddpdoctor.model.collectives import Call, Kind, Recorder, RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Group, Rank, RankSet


def entry_of(rank: RankEvidence, call: Call) -> RecorderEntry | None:
    """The recorder's entry that the call waits for.

    For a synchronous call it is the newest entry of its thread. If the thread waits for an earlier asynchronous
    operation, or several threads communicate, the oldest candidate is taken: a rank missing there is missing from all.
    """
    name = call.group.name if call.group else None
    entries = [entry for entry in open_entries(rank) if name is None or entry.group == name]
    candidates = [entry for entry in entries if operations.belongs(entry, call.op)]
    if not candidates:
        return entries[0] if len(entries) == 1 and call.kind is Kind.WAIT else None
    threads = len(rank.page.communicating_threads) if rank.page else 0
    return candidates[0] if call.kind is Kind.WAIT or threads > 1 else candidates[-1]


def needed(kind: Kind, rank: Rank, root: Rank | None, absent: RankSet) -> RankSet:
    """Members that the operation needs, out of those that have not entered it.

    A non-root rank needs its root, the root of a reduction needs all. Which others a rank needs is not known (gloo
    sends along a tree); but if nobody else is inside the operation, it must be one of those that have not entered.
    """
    if kind is Kind.ALL:
        return absent
    if kind is Kind.FROM_ROOT:
        return RankSet.of([root]) if root is not None and root != rank and root in absent else RankSet()
    return absent if root == rank else RankSet()


@dataclass(frozen=True, slots=True)
class Position:
    """Where the members of a group stand to the operation at one position of the group."""

    #: their operation at this position is, or was, another one, or one of another size: they can never join this one
    differing: RankSet
    #: those, and members whose last operation has not reached it. One that has ended takes no further part.
    missing: RankSet
    #: inside the same operation, which they have not finished
    inside: RankSet
    #: of a member that lives it is not known
    unknown: bool


class Positions:
    """The positions of one look. Each is looked up once: many ranks wait at the same."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._everybody = Group("0", tuple(Rank(r) for r in range(evidence.world_size)), "default_pg")
        self._groups: dict[str, list[Group]] = {}
        for page in (seen.page for seen in evidence.ranks if seen.page):
            for group in reversed(page.groups):
                self._groups.setdefault(group.name, []).append(group)
        self._recorded: dict[tuple[Group, int, str, int | None], Position] = {}
        self._counts: dict[tuple[str, Group | None], list[tuple[RankEvidence | None, int | None]]] = {}
        self._counted: dict[tuple[str, Group | None, int | None], Position] = {}

    def group(self, rank: RankEvidence, name: str) -> Group | None:
        """The rank's group of that name, from another page if the rank's own is missing."""
        if rank.recorder and (own := next((g for g in rank.recorder.groups if g.name == name and g.members), None)):
            return own
        own_page = reversed(rank.page.groups if rank.page else ())
        known = itertools.chain((group for group in own_page if group.name == name), self._groups.get(name, ()))
        found = (group for group in known if rank.rank in group.members)
        return next(found, self._everybody if name == "0" else None)

    def of(self, group: Group, entry: RecorderEntry) -> Position:
        """That of an operation which the recorders hold."""
        key = group, entry.seq, operations.family(entry.op), _elements(entry)
        if key not in self._recorded:
            self._recorded[key] = _position(self.evidence, *key)
        return self._recorded[key]

    def counted(self, call: Call, number: int | None) -> Position:
        """That of the n-th call of an operation which no recorder holds; None if `number` is not known."""
        counts = call.op, call.group
        if counts not in self._counts:
            members = call.group.members if call.group else range(self.evidence.world_size)
            seen = [self.evidence.rank(Rank(member)) for member in members]
            self._counts[counts] = [(member, calls_of(member, call) if member else None) for member in seen]
        key = *counts, number
        if key not in self._counted:
            self._counted[key] = _counted(self._counts[counts], number)
        return self._counted[key]


def calls_of(rank: RankEvidence, call: Call) -> int | None:
    """How many calls of this operation on this group the rank has begun; None if history was lost."""
    if rank.page is None or rank.page.events_lost:
        return None
    events = (event.call for event in rank.page.events if event.kind is EventKind.CALL and event.call)
    return sum(1 for other in events if other.op == call.op and other.group == call.group)


def _counted(counts: Iterable[tuple[RankEvidence | None, int | None]], number: int | None) -> Position:
    missing, unknown = [], False
    for member, theirs in counts:
        if theirs is not None and number is not None:
            behind = theirs < number
        else:
            behind = member is not None and member.exit is not None
            unknown = unknown or not behind
        if member is not None and behind:
            missing.append(member.rank)
    return Position(RankSet(), RankSet.of(missing), RankSet(), unknown)


def _position(evidence: Evidence, group: Group, seq: int, family: str, elements: int | None) -> Position:
    members = [evidence.rank(member) for member in group.members]
    known = [member for member in members if member is not None]
    differing = RankSet.of(member.rank for member in known if _differs(member.recorder, group, seq, family, elements))
    absent = RankSet.of(member.rank for member in known if not _entered(member, group, seq))
    inside = (member.rank for member in known if member.rank not in differing and _is_open(member, group, seq))
    unknown = any(member is None or (member.recorder is None and member.exit is None) for member in members)
    return Position(differing, absent | differing, RankSet.of(inside), unknown)


def _entered(member: RankEvidence, group: Group, seq: int) -> bool:
    """Whether the member's own last operation has reached this one; unknown is not absent."""
    if member.recorder is None:
        return member.exit is None
    last = member.recorder.last(group.name)
    return last is not None and last.seq >= seq


def _differs(recorder: Recorder | None, group: Group, seq: int, family: str, elements: int | None) -> bool:
    theirs = recorder.at(group.name, seq) if recorder else None
    if theirs is None or not theirs.op:
        return False
    given = _elements(theirs)
    return operations.family(theirs.op) != family or (None not in (given, elements) and given != elements)


def _elements(entry: RecorderEntry) -> int | None:
    """The elements that all members must give, None where they may give as many as they like, or where the record does
    not say how many: a watchdog's log need not."""
    return entry.numel if entry.input_sizes and operations.equal_sizes(entry.op) else None


def _is_open(member: RankEvidence, group: Group, seq: int) -> bool:
    theirs = member.recorder.at(group.name, seq) if member.recorder else None
    return theirs is not None and not theirs.retired


def open_entries(rank: RankEvidence) -> tuple[RecorderEntry, ...]:
    """The operations that the rank has begun and not finished, oldest first."""
    return rank.recorder.outstanding() if rank.recorder else ()
