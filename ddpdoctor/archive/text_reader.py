"""Pure. Reads any text: a log, stacks, backtraces, or a mixture of them. Every reader is applied to every stream."""

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
from ddpdoctor.archive.fragment import FatalSignal, Format, Fragment, Payload, RankMention, RankSource, WorkerExit
from ddpdoctor.archive.log_streams import LogStream, split
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.failure import is_peer_loss
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Stacks, StackSource, Thread
from ddpdoctor.probe.redact import plain

#: Messages of exceptions after a wait that took too long: the rank was blocked in that call, and nothing was wrong with
#: it. The same holds for a mismatch of collectives: every rank of the group raises it, and it does not say which is
#: right.
_TIMED_OUT = re.compile(
    r"timed out waiting \d+ ?ms|monitoredbarrier|watchdog caught collective|timed out in blocking wait|"
    r"wait timeout after|socket timeout|timed out initializing process group|(clients|workers) joined|"
    r"application timeout caused pair closure|detected mismatch between collectives",
    re.IGNORECASE,
)


def read(data: bytes, name: str) -> tuple[Fragment, ...]:
    """All fragments of a text; none if nothing in it is recognised."""
    text = plain(data.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n"))
    return tuple(fragment for stream in split(text) for fragment in _read_stream(stream, _place(name, stream)))


def _place(name: str, stream: LogStream) -> str:
    """The file, and the source within it if there are several: a container's name can contain its rank, as a file's
    can."""
    return f"{name}/{stream.source}" if stream.source else name


def is_timeout(raised: Raised) -> bool:
    """Whether the exception says that a wait took too long."""
    return _TIMED_OUT.search(raised.message) is not None


def _read_stream(stream: LogStream, name: str) -> Iterator[Fragment]:
    found = [*_stacks(stream, name), *_failures(stream, name), *_waits(stream, name)]
    if not found and stream.rank is not None:
        found = [Fragment(name, Format.TEXT, RankMention())]
    for fragment in found:
        yield _owned(fragment, stream)


def _owned(fragment: Fragment, stream: LogStream) -> Fragment:
    """The fragment with its stream's rank, unless it has a rank of its own."""
    if fragment.rank is not None:
        return fragment
    if stream.rank is not None:
        return replace(fragment, rank=stream.rank, rank_from=RankSource.CONTENT)
    if stream.local_rank is not None:
        return replace(fragment, rank=Rank(stream.local_rank), rank_from=RankSource.LOCAL)
    return fragment


def _stacks(stream: LogStream, name: str) -> Iterator[Fragment]:
    for dump in pyspy_text.find(stream.lines):
        said = pyspy_text.local_rank(dump.command)
        rank = None if said is None else Rank(said)
        yield Fragment(name, Format.TEXT, dump.stacks, rank, None if rank is None else RankSource.LOCAL, dump.pid)
    for hang in faulthandler_text.find(stream.lines):
        yield Fragment(name, Format.TEXT, hang.stacks)
        if hang.fatal:
            yield Fragment(name, Format.TEXT, FatalSignal(hang.text, hang.status))
    for backtrace in debugger_text.find(stream.lines):
        yield Fragment(name, Format.TEXT, backtrace.stacks, pid=backtrace.pid)


def _failures(stream: LogStream, name: str) -> Iterator[Fragment]:
    for worker in torchrun_log.find(stream.lines):
        rank, source = worker.rank, RankSource.CONTENT
        if rank is None and worker.ended.local_rank is not None:
            rank, source = Rank(worker.ended.local_rank), RankSource.LOCAL
        yield Fragment(name, Format.TEXT, worker.ended, rank, source, worker.pid, time=worker.ended.time)
    yield from _ends(stream, name)
    for thrown in native_exceptions.find(stream.lines):
        yield Fragment(name, Format.TEXT, thrown)
    for found in tracebacks.find_all(stream.lines):
        spawned = None if found.local_rank is None else Rank(found.local_rank)
        yield Fragment(name, Format.TEXT, found.raised, spawned, None if spawned is None else RankSource.LOCAL)


def _missing(stream: LogStream, name: str, report: rendezvous_log.RendezvousLine) -> Fragment:
    """A wait for missing peers. The rank in the line is the reporter's rank within the group; if its global rank
    differs, the numbers of the missing ranks are not global ranks either, and are left out."""
    of_a_part = stream.rank is not None and report.rank not in (None, stream.rank) and report.missing.named
    missing: Payload = replace(report.missing, named=()) if of_a_part else report.missing
    rank = None if of_a_part else report.rank
    return Fragment(
        name, Format.TEXT, missing, rank, None if rank is None else RankSource.CONTENT, world_size=report.world_size
    )


def _mismatches(stream: LogStream, name: str) -> Iterator[Fragment]:
    """The collective of a rank, and the collective of a peer that did not match it."""
    for report in fingerprints.find(stream.lines):
        place = next(
            (f.raised for f in tracebacks.find_all(stream.lines) if fingerprints.MARK in f.raised.message), None
        )
        mine = replace(report.mine, site=frames.innermost_user_frame(place.frames) if place else None)
        rank = stream.rank if stream.rank is not None else Rank(report.mine.rank_in_group or 0)
        yield Fragment(name, Format.TEXT, mine, rank, RankSource.CONTENT)
        if report.theirs is not None and rank == report.mine.rank_in_group:
            yield Fragment(name, Format.TEXT, report.theirs, Rank(report.theirs.rank_in_group or 0), RankSource.CONTENT)


def _ends(stream: LogStream, name: str) -> Iterator[Fragment]:
    """Exits that Slurm or the kernel report."""
    for said in slurm_log.find(stream.lines):
        match said:
            case slurm_log.SlurmTask(task, status, remark):
                ended: Payload = RankMention() if status is None else WorkerExit(status)
                yield Fragment(name, Format.TEXT, ended, task, RankSource.TASK)
                if remark:
                    yield Fragment(name, Format.TEXT, RankMention(remark, "Slurm"), task, RankSource.TASK)
            case slurm_log.OomKill(pid, program):
                yield Fragment(name, Format.TEXT, WorkerExit(-9), pid=pid)
                yield Fragment(
                    name, Format.TEXT, RankMention(f"out of memory, killed {pid} ({program})", "the kernel"), pid=pid
                )
            case slurm_log.TimeLimit():
                yield Fragment(name, Format.TEXT, RankMention("the job was ended at its time limit", "Slurm"))


def stacks_of(raised: Raised) -> Stacks:
    """The stacks of a rank when it gave up waiting."""
    return Stacks(StackSource.TRACEBACK, (Thread(0, "MainThread", raised.frames),))


def is_abandoned_wait(raised: Raised) -> bool:
    """Whether the exception ended a wait: it took too long, or a peer was lost that had given up before."""
    return bool(raised.frames) and (is_timeout(raised) or is_peer_loss(raised))


def _waits(stream: LogStream, name: str) -> Iterator[Fragment]:
    for said in watchdog_log.find(stream.lines):
        yield Fragment(name, Format.TEXT, said.timeout)
    if stuck := watchdog_log.find_stuck(stream.lines):
        yield Fragment(name, Format.TEXT, stuck)
    yield from _mismatches(stream, name)
    for report in rendezvous_log.find(stream.lines):
        yield _missing(stream, name, report)
    for line in nccl_log.find(stream.lines):
        if isinstance(line, nccl_log.Communicator):
            yield Fragment(name, Format.TEXT, RankMention(), line.rank, RankSource.CONTENT, line.pid, line.size)
        else:
            yield Fragment(name, Format.TEXT, RankMention(line.text), pid=line.pid)
