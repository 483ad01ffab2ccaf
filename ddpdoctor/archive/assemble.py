"""Pure. Fragments -> Evidence, in the same form as evidence from a live job; what is missing becomes a Gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ddpdoctor.archive import log_waits, watchdog_recorders
from ddpdoctor.archive.exit_inference import infer_exit
from ddpdoctor.archive.fragment import (
    CollectiveTimeout,
    FatalSignal,
    Format,
    Fragment,
    MissingPeers,
    RankMention,
    RankSource,
    WorkerExit,
)
from ddpdoctor.archive.rank_assignment import ProcessKind, RankAssignment, assign_ranks, kind_of
from ddpdoctor.archive.text_reader import is_abandoned_wait
from ddpdoctor.archive.timeout_aftereffects import without_aftereffects
from ddpdoctor.diagnose.digest.failure import is_peer_loss, raised_site, said
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source, Timing
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Exit, Motion, ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import MOST_RANKS, Rank, RankSet, Role, Worker
from ddpdoctor.model.stacks import Stacks, StackSource
from ddpdoctor.probe.redact import redacted

T = TypeVar("T")

#: sources of stacks, the most detailed first
_BEST_FIRST = (
    StackSource.PYSPY,
    StackSource.PYSPY_NONBLOCKING,
    StackSource.DEBUGGER,
    StackSource.FAULTHANDLER,
    StackSource.TRACEBACK,
)


def assemble(fragments: Sequence[Fragment], gaps: Sequence[Gap] = ()) -> Evidence:
    """Join all fragments by rank. The Evidence has no ranks if no fragment could be assigned to one."""
    assignment = assign_ranks(
        [fragment for fragment in fragments if fragment.rank is None or fragment.rank < MOST_RANKS]
    )
    by_rank = without_aftereffects(assignment.by_rank)
    world = world_size(assignment)
    timeouts = {rank: _all(of_rank, CollectiveTimeout) for rank, of_rank in by_rank.items()}
    logged = watchdog_recorders.recorders(timeouts)
    reported = log_waits.reported_waits(by_rank, world)
    timing = _timing(by_rank)
    looks = max((len(_all(of_rank, ProcessState)) for of_rank in by_rank.values()), default=0)
    ranks = tuple(
        replace(_rank(rank, of_rank, logged.get(rank), timing, looks), reported=reported.get(rank, ()))
        for rank, of_rank in by_rank.items()
    )
    return Evidence(
        world_size=world,
        ranks=ranks,
        timing=timing,
        gaps=(*gaps, *_gaps(assignment, ranks)),
        notes=(*_notes(assignment, by_rank), *_group_notes(timeouts)),
        reported_hanging=not any(seen.page for seen in ranks),
        size_known=_size_known(assignment),
        ranks_unidentified=len(assignment.known_by(RankSource.TEXT_ORDER)) > 0,
    )


def world_size(assignment: RankAssignment) -> int:
    """The largest world size that any fragment states, or one more than the highest rank that was seen."""
    sizes = [
        fragment.world_size
        for fragments in assignment.by_rank.values()
        for fragment in fragments
        if fragment.world_size
    ]
    sizes += [fragment.world_size for fragment in assignment.unassigned if fragment.world_size]
    sizes += [rank + 1 for rank in assignment.by_rank]
    missing = [fragment.payload for of_rank in assignment.by_rank.values() for fragment in of_rank]
    sizes += [rank + 1 for one in missing if isinstance(one, MissingPeers) for rank in one.named if rank < MOST_RANKS]
    return min(max(sizes, default=0), MOST_RANKS)


def _size_known(assignment: RankAssignment) -> bool:
    """Whether a page, a rendezvous, a communicator or a recorder's group states the number of ranks."""
    every = [*assignment.unassigned, *(fragment for of_rank in assignment.by_rank.values() for fragment in of_rank)]
    recorders = _all(every, Recorder)
    return any(fragment.world_size for fragment in every) or any(g.members for r in recorders for g in r.groups)


def _rank(
    rank: Rank, fragments: tuple[Fragment, ...], logged: Recorder | None, timing: Timing, looks: int
) -> RankEvidence:
    """All that is known of one rank. `looks`: how often the processes of the job were sampled."""
    workers = dict.fromkeys(
        p.pid for p in fragments if isinstance(p.payload, Stacks) and kind_of(p.payload) is ProcessKind.LOADER
    )
    family, fragments = (
        fragments,
        tuple(fragment for fragment in fragments if fragment.pid is None or fragment.pid not in workers),
    )
    pages, processes = _all(fragments, Page), _all(fragments, ProcessState)
    stacks = _stacks(fragments)
    recorders = _all(fragments, Recorder)
    ended = [fragment for fragment in fragments if isinstance(fragment.payload, WorkerExit)]
    pid = next((p.pid for p in fragments if isinstance(p.payload, Page | Stacks | WorkerExit) and p.pid), None) or 0
    return RankEvidence(
        rank=rank,
        worker=Worker(pid, 0.0, Role.RANK, rank),
        page=pages[-1] if pages else None,
        recorder=max(recorders, key=lambda r: len(r.entries)) if recorders else logged,
        stacks=stacks[-1] if stacks else None,
        process=processes[-1] if processes else None,
        motion=_motion(pid, pages, processes, stacks),
        exit=_exit(ended, pages, timing) or infer_exit(fragments, timing, looks),
        children=tuple(_child(worker, pid, family) for worker in workers),
        fatal=redacted("\n".join(fatal.text for fatal in _all(fragments, FatalSignal))),
        raised=_raised(fragments, timing) if not pages else None,
    )


def _child(pid: int | None, parent: int, family: tuple[Fragment, ...]) -> Child:
    """A data loader worker: its stacks, and its process state if that was sampled."""
    fragments = [fragment for fragment in family if fragment.pid == pid]
    processes, stacks = _all(fragments, ProcessState), _all(fragments, Stacks)
    worker = Worker(pid or 0, 0.0, Role.CHILD, parent=parent)
    return Child(worker, processes[-1] if processes else None, stacks[-1], _motion(worker.pid, [], processes, stacks))


def _all(fragments: Iterable[Fragment], kind: type[T]) -> list[T]:
    return [fragment.payload for fragment in fragments if isinstance(fragment.payload, kind)]


def _stacks(fragments: Iterable[Fragment]) -> list[Stacks]:
    """The rank's own stacks from the best source, oldest first.

    Only stacks of one format are returned: two formats write the same path differently, and that difference must not be
    read as movement.
    """
    every = [
        (_BEST_FIRST.index(fragment.payload.source), fragment.format is Format.TEXT, fragment.payload)
        for fragment in fragments
        if isinstance(fragment.payload, Stacks) and kind_of(fragment.payload) is ProcessKind.RANK
    ]
    best = min((one[:2] for one in every), default=None)
    return [stacks for *kind, stacks in every if tuple(kind) == best]


def _motion(pid: int, pages: list[Page], processes: list[ProcessState], stacks: list[Stacks]) -> Motion | None:
    """What changed between the last two samples of each kind; None if there is only one sample."""
    if max(len(pages), len(processes), len(stacks)) < 2:
        return None
    first, last = processes[-2:] if len(processes) > 1 else (None, None)
    return Motion(
        seconds=last.time - first.time if first and last else 0.0,
        cpu_seconds=last.cpu_seconds - first.cpu_seconds if first and last else 0.0,
        io_bytes=(last.io_bytes or 0) - (first.io_bytes or 0) if first and last else 0,
        lines_moved=Observed.of(_lines(stacks[-2]) != _lines(stacks[-1])) if len(stacks) > 1 else Observed.UNKNOWN,
        page_moved=Observed.of(pages[-2].revision != pages[-1].revision) if len(pages) > 1 else Observed.UNKNOWN,
        main_io_bytes=last.io_since(first, pid) if first and last else 0,
        napped=any(state.naps for one in processes[:-1] if (state := one.thread(pid))),
    )


def _lines(stacks: Stacks) -> object:
    return {
        thread.os_id: thread.frames
        for thread in stacks.threads
        if not any("/ddpdoctor/probe/" in frame.file for frame in thread.frames)
    }


def _exit(ended: list[Fragment], pages: list[Page], timing: Timing) -> Exit | None:
    """The exit from the launcher's summary, or else from its first log line, which names the local rank only."""
    best = sorted(ended, key=lambda p: (p.rank_from is not RankSource.CONTENT, p.time is None))[:1]
    for fragment in best:
        assert isinstance(fragment.payload, WorkerExit)
        clock = fragment.time if fragment.time is not None and not pages else timing.collected
        return Exit(fragment.pid or 0, fragment.payload.status, clock)
    return None


def _raised(fragments: tuple[Fragment, ...], timing: Timing) -> Raised | None:
    """What the rank raised, timed by its exit and ordered by line number."""
    ended = _all(fragments, WorkerExit)
    every = [*_all(fragments, Raised), *(one.raised for one in ended if one.raised)]
    if not every:
        return None
    times = [*(one.time for one in ended if one.time), *(fragment.time for fragment in fragments if fragment.time)]
    last = every[-1]
    return replace(last, time=min(times, default=timing.collected) + min(last.time, 1e8) * 1e-9)


def _timing(by_rank: Mapping[Rank, tuple[Fragment, ...]]) -> Timing:
    """Times from pages and processes (monotonic clock) or else from logs (calendar clock); the two are never mixed."""
    fragments = [fragment for of_rank in by_rank.values() for fragment in of_rank]
    pages, processes = _all(fragments, Page), _all(fragments, ProcessState)
    if pages:
        started = min((event.time for page in pages for event in page.events[:1]), default=pages[0].moved)
        looked = [process.time for process in processes] or [page.heartbeat for page in pages]
        moved = max(page.moved for page in pages)
        return Timing(min(started, moved), moved, max(looked), max(looked))
    times = [fragment.time for fragment in fragments if fragment.time is not None]
    latest = max(times, default=0.0)
    return Timing(latest, latest, latest, latest)


def _gaps(assignment: RankAssignment, ranks: tuple[RankEvidence, ...]) -> Iterable[Gap]:
    lost = sorted(
        {
            fragment.name
            for fragment in assignment.unassigned
            if not isinstance(fragment.payload, RankMention | MissingPeers)
        }
    )
    if lost:
        shown = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        yield Gap(
            Source.FILES,
            None,
            f"part of {shown} could not be assigned to a rank",
            "put the rank into the file's name: rank_3.txt",
        )
    if ranks and not any(seen.page for seen in ranks):
        what = "the history of the ranks (batches, forwards, calls and their places)"
        yield Gap(Source.PAGES, None, f"{what} is recorded in no dump or log", "run it under `ddpdoctor watch`")
    without = RankSet.of(
        r.rank for r in ranks if r.stacks is None and r.page is None and r.raised is None and not r.exit
    )
    for rank in without if any(r.stacks for r in ranks) else ():
        yield Gap(Source.STACKS, rank, "no stacks of this rank were given", "py-spy dump --pid PID > rank_N.txt")


def _notes(assignment: RankAssignment, by_rank: Mapping[Rank, tuple[Fragment, ...]]) -> Iterable[str]:
    ranks_by = {source: assignment.known_by(source) for source in RankSource}
    words = {
        RankSource.CONTENT: "the content of the files",
        RankSource.PROCESS: "process ids",
        RankSource.NAME: "file names",
        RankSource.LOCAL: "local ranks, assuming one node, or nodes in the order of their files' names",
        RankSource.ORDER: "the order of process ids, because nothing names the ranks",
        RankSource.TASK: "srun's task numbers, assumed to be ranks",
        RankSource.TEXT_ORDER: "the order of the text, because no line names a rank",
    }
    from_where = [f"{words[source]} ({_ranks(ranks)})" for source, ranks in ranks_by.items() if len(ranks)]
    if from_where:
        yield f"rank numbers come from {'; '.join(from_where)}"
    yield from log_waits.notes(assignment.by_rank)
    yield from _unassigned_notes(assignment)
    if by_rank != assignment.by_rank:
        yield "a wait timed out: the job is judged as of that moment; later exits and lost connections are consequences"


def _unassigned_notes(assignment: RankAssignment) -> Iterable[str]:
    """What could not be assigned to a rank: warnings, exits, and exceptions that may be the first failure."""
    for by, text in dict.fromkeys(
        (one.by, one.warning) for one in _all(assignment.unassigned, RankMention) if one.by != "NCCL"
    ):
        yield f"{by}: {text}"
    raised = [
        one for one in _all(assignment.unassigned, Raised) if not is_abandoned_wait(one) and not is_peer_loss(one)
    ]
    for kind, message, site in list(dict.fromkeys((r.type, said(r), raised_site(r)) for r in raised))[:3]:
        where = f" at {site.file}:{site.line}" if site else ""
        yield f"an unidentified rank raised {kind}{f': {message}' if message else ''}{where}"


def _group_notes(timeouts: Mapping[Rank, Sequence[CollectiveTimeout]]) -> Iterable[str]:
    unknown = watchdog_recorders.unknown_groups(timeouts)
    if unknown:
        yield (
            f"the log does not name the members of the groups in which {_ranks(unknown)} waited: "
            "sequence numbers are not compared"
        )


def _ranks(ranks: RankSet) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {ranks}"
