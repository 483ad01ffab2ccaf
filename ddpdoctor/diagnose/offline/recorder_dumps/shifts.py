"""Shifts: where the order of a group's collectives first differs between ranks, long before any rank waits.

Collectives pair by their number alone. If a rank leaves one out, its next one pairs with the others' previous one, and
as long as they match, nothing fails. So the members' operations are compared number by number. If a rank's operations
equal the others' moved by a few places, from some number up to the end, the rank left out (or added) the operations at
that number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.diagnose.digest import operations
from ddpdoctor.diagnose.offline.recorder_dumps.pending_operations import JobState, PendingOp
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.recorder_set import Ring, Step

#: most operations that one rank may have left out or added in a row
_FARTHEST = 8
#: fewest operations that must agree again after that number, to exclude chance
_FEWEST = 3
#: what an operation must have in common with its partners, and where it was issued
_Mark = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Shift:
    """Some ranks' operations of a group are shifted against the others' from one number on."""

    pending: PendingOp
    ranks: RankSet
    others: RankSet
    #: the first number that differs
    seq: int
    #: what the others issued there and these ranks did not, or what these ranks added
    steps: tuple[Step, ...]
    #: the ranks left it out (rather than adding it)
    skipped: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """The collectives of one group, by number from `first` on, for ranks that agree in all of them."""

    first: int
    marks: tuple[_Mark, ...]
    steps: tuple[Step, ...]
    ranks: tuple[Rank, ...]

    def after(self, seq: int) -> tuple[_Mark, ...]:
        return self.marks[seq - self.first :]


def find_shift(job: JobState, pending: PendingOp) -> Shift | None:
    """The earliest shift among the members of a group in which a rank waits; None if none is found."""
    if pending.step.p2p:
        return None
    lines = _compared(_lines(job, pending))
    if len(lines) < 2:
        return None
    usual = max(lines, key=lambda line: len(line.ranks))
    if sum(len(line.ranks) == len(usual.ranks) for line in lines) > 1:
        return None  # no majority, so it is not known which of the two is shifted
    found = [shift for line in lines if line is not usual if (shift := _shift(pending, line, usual))]
    return min(found, key=lambda shift: (shift.seq, shift.ranks.members), default=None)


def _lines(job: JobState, pending: PendingOp) -> list[_Line]:
    """The members' collectives, with ranks of the same ring together."""
    recorders = job.recorders
    sharing: dict[tuple[Ring, int], list[Rank]] = {}
    for rank in pending.group.members:
        member = recorders.members.get(rank)
        role = next((n for n, g in enumerate(member.groups) if g.name == pending.group.name), None) if member else None
        if member is not None and role is not None:
            sharing.setdefault((member.ring, role), []).append(rank)
    found = [_line(ring, role, ranks) for (ring, role), ranks in sharing.items()]
    return [line for line in found if line is not None]


def _line(ring: Ring, role: int, ranks: Sequence[Rank]) -> _Line | None:
    """None if the numbers have gaps, or are all that is known: then nothing can be compared by number."""
    by_number = {step.seq: step for step in ring.steps if step.role == role and not step.p2p}
    numbers = sorted(by_number)
    if not numbers or numbers[-1] - numbers[0] + 1 != len(numbers) or not all(s.op for s in by_number.values()):
        return None
    steps = tuple(by_number[number] for number in numbers)
    return _Line(numbers[0], tuple(map(mark, steps)), steps, tuple(ranks))


def mark(step: Step) -> _Mark:
    """What partners must have in common, with the call site."""
    family = operations.family(step.op)
    return (family, step.sizes if operations.equal_sizes(step.op) else (), step.dtypes, step.site)


def _compared(lines: list[_Line]) -> list[_Line]:
    """Lines that agree as far as both are known are merged; the longest represents them.

    A line that ended before the others' rings begin cannot be compared.
    """
    begin = max((line.first for line in lines), default=0)
    known = [line for line in lines if line.first + len(line.marks) > begin]
    groups: dict[tuple[_Mark, ...], list[_Line]] = {}
    end = min((line.first + len(line.marks) for line in known), default=0)
    for line in known:
        groups.setdefault(line.marks[begin - line.first : end - line.first], []).append(line)
    return [_merged(begin, members) for members in groups.values()]


def _merged(begin: int, lines: list[_Line]) -> _Line:
    longest = max(lines, key=lambda line: line.first + len(line.marks))
    skip = begin - longest.first
    ranks = tuple(rank for line in lines for rank in line.ranks)
    return _Line(begin, longest.marks[skip:], longest.steps[skip:], ranks)


def _shift(pending: PendingOp, line: _Line, usual: _Line) -> Shift | None:
    place = next((n for n, (a, b) in enumerate(zip(line.marks, usual.marks, strict=False)) if a != b), None)
    if place is None:
        return None
    ours, theirs = line.marks[place:], usual.marks[place:]
    for width in range(1, _FARTHEST + 1):
        for skipped, (short, long) in ((True, (ours, theirs[width:])), (False, (theirs, ours[width:]))):
            length = min(len(short), len(long))
            if length >= _FEWEST and short[:length] == long[:length]:
                steps = (usual if skipped else line).steps[place : place + width]
                ranks, others = RankSet.of(line.ranks), RankSet.of(usual.ranks)
                return Shift(pending, ranks, others, line.first + place, steps, skipped)
    return None


def by_mark(steps: Mapping[Rank, Step]) -> list[tuple[RankSet, Step]]:
    """Ranks grouped by what they issued at one place, without the line; the largest group first.

    For some ranks a log gives only the number: they can have issued what the others did, and are on no side.
    """
    found: dict[_Mark, list[Rank]] = {}
    for rank, step in steps.items():
        if not step.op:
            continue
        found.setdefault(mark(step)[:3], []).append(rank)
    ordered = sorted(found.values(), key=lambda ranks: (-len(ranks), min(ranks)))
    return [(RankSet.of(ranks), steps[min(ranks)]) for ranks in ordered]
