"""Pure. Watchdog lines of all ranks -> a Recorder for each rank: the collectives they report, and the newest
operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ddpdoctor.archive.fragment import CollectiveTimeout
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.ranks import Rank, RankSet

VERSION = "watchdog"
DEFAULT = "0"
#: operations between two ranks, of which a log does not name the peer; they have sequence numbers of their own
_PAIRED = ("send", "recv", "coalesced")


def recorders(said: Mapping[Rank, Sequence[CollectiveTimeout]]) -> dict[Rank, Recorder]:
    """A recorder for each rank, from what its watchdog logged. Lines of unidentified groups are left out, because
    sequence numbers of different groups must not be compared."""
    whole = {rank: _with_groups(lines) for rank, lines in said.items()}
    known = _known_groups(whole)
    found = {rank: _recorder(lines, known) for rank, lines in whole.items()}
    return {rank: recorder for rank, recorder in found.items() if recorder.entries}


def unknown_groups(said: Mapping[Rank, Sequence[CollectiveTimeout]]) -> RankSet:
    """Ranks whose lines belong to groups that cannot be identified."""
    made = recorders(said)
    return RankSet.of(rank for rank, lines in said.items() if rank not in made and any(line.op for line in lines))


def _with_groups(lines: Sequence[CollectiveTimeout]) -> tuple[CollectiveTimeout, ...]:
    """Lines completed with the group and the newest operations from another line of the same rank and sequence
    number."""
    frontiers = [line for line in lines if not line.op]
    named = {line.seq: line for line in frontiers if line.seq is not None}
    groups = {(line.group, line.description) for line in lines if line.group}
    only = next(iter(groups)) if len(groups) == 1 else ("", "")
    joined = []
    for line in lines:
        other = named.get(line.seq) if line.op and line.seq is not None else None
        group, description = (line.group, line.description) if line.group else only
        if other is not None:
            group, description = (other.group, other.description) if other.group else (group, description)
            line = replace(line, enqueued=other.enqueued, completed=other.completed)
        joined.append(replace(line, group=group, description=description))
    return tuple(joined)


def _known_groups(said: Mapping[Rank, tuple[CollectiveTimeout, ...]]) -> Mapping[str, str]:
    """Group name in the log -> group name here, for groups that span all ranks as far as the lines show.

    A group does if a line says so, or if every rank has the same number in the group as globally and no two ranks have
    the same one.
    """
    found: dict[str, str] = {}
    lines = [(rank, line) for rank, of_rank in said.items() for line in of_rank]
    for name in {line.group for _, line in lines}:
        own = [(rank, line) for rank, line in lines if line.group == name]
        default = name == DEFAULT or any(line.description == "default_pg" for _, line in own)
        if default or _numbered_globally(own):
            found[name] = DEFAULT if default or not name else name
    return found


def _numbered_globally(lines: list[tuple[Rank, CollectiveTimeout]]) -> bool:
    same = all(line.rank_in_group is None or line.rank_in_group == rank for rank, line in lines)
    return same and (len({line.seq for _, line in lines if line.op}) < 2 or len({rank for rank, _ in lines}) > 1)


def _recorder(lines: Sequence[CollectiveTimeout], known: Mapping[str, str]) -> Recorder:
    entries: dict[int, RecorderEntry] = {}
    paired = {line.group for line in lines if line.op in _PAIRED}
    for line in lines:
        group = known.get(line.group)
        if group is None or line.group in paired:
            continue
        if line.op and line.seq is not None:
            before = entries.get(line.seq)
            site = line.site or (before.site if before else None)  # one timeout may be logged more than once
            sizes = () if line.numel_in is None else ((line.numel_in,),)
            entry = _entry(group, line.seq, finished=False)
            entries[line.seq] = replace(entry, op=line.op, input_sizes=sizes, site=site)
        if line.enqueued is not None and 0 <= line.enqueued < 1 << 62:
            finished = line.enqueued == line.completed
            entries.setdefault(line.enqueued, _entry(group, line.enqueued, finished=finished))
    return Recorder(VERSION, tuple(entries[seq] for seq in sorted(entries)))


def _entry(group: str, seq: int, *, finished: bool) -> RecorderEntry:
    """An operation of which only the sequence number is known: its name is empty."""
    return RecorderEntry(
        seq=seq,
        op="",
        backend="nccl",
        group=group,
        input_sizes=(),
        input_dtypes=(),
        created_ns=0,
        state="completed" if finished else "scheduled",
        retired=finished,
    )
