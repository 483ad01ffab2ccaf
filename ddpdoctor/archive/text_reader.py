"""Pure. Any text: a log, stacks, backtraces, or a paste of all of them. Every reader looks at every stream of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.archive import (
    debugger_text,
    faulthandler_text,
    fingerprints,
    native_exceptions,
    nccl_log,
    pyspy_text,
    rendezvous_log,
    slurm_log,
    torchrun_log,
    tracebacks,
    watchdog_log,
)
from ddpdoctor.archive.fragment import Ended, Fatal, Format, Mention, Payload, Piece, RankFrom
from ddpdoctor.archive.log_streams import Stream, split
from ddpdoctor.collect.redact import plain
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.failure import is_peer_loss
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Rung, Stacks, Thread

#: What torch says when a wait took too long: the rank stood in that call, and nothing was wrong with it. So does who
#: finds that another rank's call does not fit: every rank of the group raises that, and it does not say who is right.
_TIMED_OUT = re.compile(
    r"timed out waiting \d+ ?ms|monitoredbarrier|watchdog caught collective|timed out in blocking wait|"
    r"wait timeout after|socket timeout|timed out initializing process group|(clients|workers) joined|"
    r"application timeout caused pair closure|detected mismatch between collectives",
    re.IGNORECASE,
)


def read(data: bytes, name: str) -> tuple[Piece, ...]:
    """Everything that a text says; nothing where it says nothing that we know."""
    text = plain(data.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n"))
    return tuple(piece for stream in split(text) for piece in _read_stream(stream, _place(name, stream)))


def _place(name: str, stream: Stream) -> str:
    """The file, and the source within it if it holds several: a container's name can say its rank as a file's can."""
    return f"{name}/{stream.source}" if stream.source else name


def timed_out(raised: Raised) -> bool:
    """The exception says that a wait took too long."""
    return _TIMED_OUT.search(raised.message) is not None


def _read_stream(stream: Stream, name: str) -> Iterator[Piece]:
    found = [*_stacks(stream, name), *_failures(stream, name), *_waits(stream, name)]
    if not found and stream.rank is not None:
        found = [Piece(name, Format.TEXT, Mention())]
    for piece in found:
        yield _owned(piece, stream)


def _owned(piece: Piece, stream: Stream) -> Piece:
    """The piece with its stream's rank, unless it says one itself."""
    if piece.rank is not None:
        return piece
    if stream.rank is not None:
        return replace(piece, rank=stream.rank, rank_from=RankFrom.CONTENT)
    if stream.local_rank is not None:
        return replace(piece, rank=Rank(stream.local_rank), rank_from=RankFrom.LOCAL)
    return piece


def _stacks(stream: Stream, name: str) -> Iterator[Piece]:
    for dump in pyspy_text.find(stream.lines):
        said = pyspy_text.local_rank(dump.command)
        rank = None if said is None else Rank(said)
        yield Piece(name, Format.TEXT, dump.stacks, rank, None if rank is None else RankFrom.LOCAL, dump.pid)
    for hang in faulthandler_text.find(stream.lines):
        yield Piece(name, Format.TEXT, hang.stacks)
        if hang.fatal:
            yield Piece(name, Format.TEXT, Fatal(hang.text, hang.status))
    for backtrace in debugger_text.find(stream.lines):
        yield Piece(name, Format.TEXT, backtrace.stacks, pid=backtrace.pid)


def _failures(stream: Stream, name: str) -> Iterator[Piece]:
    for worker in torchrun_log.find(stream.lines):
        rank, source = worker.rank, RankFrom.CONTENT
        if rank is None and worker.ended.local_rank is not None:
            rank, source = Rank(worker.ended.local_rank), RankFrom.LOCAL
        yield Piece(name, Format.TEXT, worker.ended, rank, source, worker.pid, time=worker.ended.time)
    yield from _ends(stream, name)
    for thrown in native_exceptions.find(stream.lines):
        yield Piece(name, Format.TEXT, thrown)
    for found in tracebacks.find_all(stream.lines):
        spawned = None if found.local_rank is None else Rank(found.local_rank)
        yield Piece(name, Format.TEXT, found.raised, spawned, None if spawned is None else RankFrom.LOCAL)


def _missing(stream: Stream, name: str, report: rendezvous_log.Report) -> Piece:
    """The rank that a line names is its reporter, in the group that waits: with another number there than in the job,
    the numbers of those that it misses are not the job's either."""
    of_a_part = stream.rank is not None and report.rank not in (None, stream.rank) and report.missing.named
    missing: Payload = replace(report.missing, named=()) if of_a_part else report.missing
    rank = None if of_a_part else report.rank
    return Piece(
        name, Format.TEXT, missing, rank, None if rank is None else RankFrom.CONTENT, world_size=report.world_size
    )


def _mismatches(stream: Stream, name: str) -> Iterator[Piece]:
    """The collective that a rank was in, and the one of another rank that did not fit to it."""
    for report in fingerprints.find(stream.lines):
        place = next(
            (f.raised for f in tracebacks.find_all(stream.lines) if fingerprints.MARK in f.raised.message), None
        )
        mine = replace(report.mine, site=frames.innermost_user_frame(place.frames) if place else None)
        rank = stream.rank if stream.rank is not None else Rank(report.mine.rank_in_group or 0)
        yield Piece(name, Format.TEXT, mine, rank, RankFrom.CONTENT)
        if report.theirs is not None and rank == report.mine.rank_in_group:
            yield Piece(name, Format.TEXT, report.theirs, Rank(report.theirs.rank_in_group or 0), RankFrom.CONTENT)


def _ends(stream: Stream, name: str) -> Iterator[Piece]:
    """Ends that Slurm or the kernel tell."""
    for said in slurm_log.find(stream.lines):
        match said:
            case slurm_log.Task(task, status, remark):
                ended: Payload = Mention() if status is None else Ended(status)
                yield Piece(name, Format.TEXT, ended, task, RankFrom.TASK)
                if remark:
                    yield Piece(name, Format.TEXT, Mention(remark, "Slurm"), task, RankFrom.TASK)
            case slurm_log.Killed(pid, program):
                yield Piece(name, Format.TEXT, Ended(-9), pid=pid)
                yield Piece(
                    name, Format.TEXT, Mention(f"out of memory, ended {pid} ({program})", "the kernel"), pid=pid
                )
            case slurm_log.TimeLimit():
                yield Piece(name, Format.TEXT, Mention("the job was ended at its time limit", "Slurm"))


def stood_in(raised: Raised) -> Stacks:
    """Where a rank stood when its wait was given up."""
    return Stacks(Rung.TRACEBACK, (Thread(0, "MainThread", raised.frames),))


def gave_up(raised: Raised) -> bool:
    """A wait took too long, or a peer was lost that had given up before."""
    return bool(raised.frames) and (timed_out(raised) or is_peer_loss(raised))


def _waits(stream: Stream, name: str) -> Iterator[Piece]:
    for said in watchdog_log.find(stream.lines):
        yield Piece(name, Format.TEXT, said.timeout)
    if stuck := watchdog_log.stuck(stream.lines):
        yield Piece(name, Format.TEXT, stuck)
    yield from _mismatches(stream, name)
    for report in rendezvous_log.find(stream.lines):
        yield _missing(stream, name, report)
    for line in nccl_log.find(stream.lines):
        if isinstance(line, nccl_log.Communicator):
            yield Piece(name, Format.TEXT, Mention(), line.rank, RankFrom.CONTENT, line.pid, line.size)
        else:
            yield Piece(name, Format.TEXT, Mention(line.text), pid=line.pid)
