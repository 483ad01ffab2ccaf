"""Pure. Fragments -> Evidence: the same vocabulary that a live look gives, with what is missing told as gaps."""

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
from ddpdoctor.collect.redact import redacted
from ddpdoctor.diagnose.digest.failure import is_peer_loss, raised_site, said
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source, Timing
from ddpdoctor.model.processes import Child, Exit, Motion, ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import Rank, RankSet, Role, Worker
from ddpdoctor.model.stacks import Stacks, StackSource

T = TypeVar("T")

#: which stacks tell more, best first
_BEST_FIRST = (
    StackSource.PYSPY,
    StackSource.PYSPY_NONBLOCKING,
    StackSource.DEBUGGER,
    StackSource.FAULTHANDLER,
    StackSource.TRACEBACK,
)
#: a log may name a rank that is no rank; no more of them are believed without anything else
_MOST_RANKS = 1 << 17


def assemble(fragments: Sequence[Fragment], gaps: Sequence[Gap] = ()) -> Evidence:
    """Join all fragments by rank. Where nothing can be assignment the Evidence has no ranks."""
    assignment = assign_ranks(
        [fragment for fragment in fragments if fragment.rank is None or fragment.rank < _MOST_RANKS]
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
        notes=(*_notes(assignment, by_rank), *_of_groups(timeouts)),
        reported_hanging=not any(seen.page for seen in ranks),
        size_known=_size_told(assignment),
        ranks_unidentified=len(assignment.known_by(RankSource.TEXT_ORDER)) > 0,
    )


def world_size(assignment: RankAssignment) -> int:
    """As many ranks as any fragment says there are, or as are seen."""
    sizes = [
        fragment.world_size
        for fragments in assignment.by_rank.values()
        for fragment in fragments
        if fragment.world_size
    ]
    sizes += [fragment.world_size for fragment in assignment.unassigned if fragment.world_size]
    sizes += [rank + 1 for rank in assignment.by_rank]
    missing = [fragment.payload for of_rank in assignment.by_rank.values() for fragment in of_rank]
    sizes += [rank + 1 for one in missing if isinstance(one, MissingPeers) for rank in one.named if rank < _MOST_RANKS]
    return min(max(sizes, default=0), _MOST_RANKS)


def _size_told(assignment: RankAssignment) -> bool:
    """A page, a rendezvous, a communicator or a recorder's group says how many ranks there are."""
    every = [*assignment.unassigned, *(fragment for of_rank in assignment.by_rank.values() for fragment in of_rank)]
    recorders = _all(every, Recorder)
    return any(fragment.world_size for fragment in every) or any(g.members for r in recorders for g in r.groups)


def _rank(
    rank: Rank, fragments: tuple[Fragment, ...], logged: Recorder | None, timing: Timing, looks: int
) -> RankEvidence:
    """`looks`: how often the processes of the job were looked at."""
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
        motion=_motion(pages, processes, stacks),
        exit=_exit(ended, pages, timing) or infer_exit(fragments, timing, looks),
        children=tuple(_child(worker, pid, family) for worker in workers),
        fatal=redacted("\n".join(fatal.text for fatal in _all(fragments, FatalSignal))),
        raised=_raised(fragments, timing) if not pages else None,
    )


def _child(pid: int | None, parent: int, family: tuple[Fragment, ...]) -> Child:
    """A data worker: its stacks, and its process if that was looked at."""
    fragments = [fragment for fragment in family if fragment.pid == pid]
    processes, stacks = _all(fragments, ProcessState), _all(fragments, Stacks)
    worker = Worker(pid or 0, 0.0, Role.CHILD, parent=parent)
    return Child(worker, processes[-1] if processes else None, stacks[-1], _motion([], processes, stacks))


def _all(fragments: Iterable[Fragment], kind: type[T]) -> list[T]:
    return [fragment.payload for fragment in fragments if isinstance(fragment.payload, kind)]


def _stacks(fragments: Iterable[Fragment]) -> list[Stacks]:
    """The rank's own stacks of the best source, oldest first.

    Of one format only: two formats write the same path in two ways, which must not pass for movement.
    """
    every = [
        (_BEST_FIRST.index(fragment.payload.source), fragment.format is Format.TEXT, fragment.payload)
        for fragment in fragments
        if isinstance(fragment.payload, Stacks) and kind_of(fragment.payload) is ProcessKind.RANK
    ]
    best = min((one[:2] for one in every), default=None)
    return [stacks for *kind, stacks in every if tuple(kind) == best]


def _motion(pages: list[Page], processes: list[ProcessState], stacks: list[Stacks]) -> Motion | None:
    """What changed between the last two looks of each kind; None where there is one look only."""
    if max(len(pages), len(processes), len(stacks)) < 2:
        return None
    first, last = processes[-2:] if len(processes) > 1 else (None, None)
    return Motion(
        seconds=last.time - first.time if first and last else 0.0,
        cpu_seconds=last.cpu_seconds - first.cpu_seconds if first and last else 0.0,
        io_bytes=(last.io_bytes or 0) - (first.io_bytes or 0) if first and last else 0,
        lines_moved=_lines(stacks[-2]) != _lines(stacks[-1]) if len(stacks) > 1 else None,
        page_moved=pages[-2].revision != pages[-1].revision if len(pages) > 1 else None,
    )


def _lines(stacks: Stacks) -> object:
    return {
        thread.os_id: thread.frames
        for thread in stacks.threads
        if not any("/ddpdoctor/probe/" in frame.file for frame in thread.frames)
    }


def _exit(ended: list[Fragment], pages: list[Page], timing: Timing) -> Exit | None:
    """The launcher's summary before the line that it logs first, which knows the local rank only."""
    best = sorted(ended, key=lambda p: (p.rank_from is not RankSource.CONTENT, p.time is None))[:1]
    for fragment in best:
        assert isinstance(fragment.payload, WorkerExit)
        clock = fragment.time if fragment.time is not None and not pages else timing.collected
        return Exit(fragment.pid or 0, fragment.payload.status, clock)
    return None


def _raised(fragments: tuple[Fragment, ...], timing: Timing) -> Raised | None:
    """What the rank raised, at the time at which it was seen to end, and in the order of the log's lines."""
    ended = _all(fragments, WorkerExit)
    every = [*_all(fragments, Raised), *(one.raised for one in ended if one.raised)]
    if not every:
        return None
    times = [*(one.time for one in ended if one.time), *(fragment.time for fragment in fragments if fragment.time)]
    last = every[-1]
    return replace(last, time=min(times, default=timing.collected) + min(last.time, 1e8) * 1e-9)


def _timing(by_rank: Mapping[Rank, tuple[Fragment, ...]]) -> Timing:
    """Pages and processes have the clock of their machine; logs have a calendar's. They are never mixed."""
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
            f"whose rank it is cannot be told for part of {shown}",
            "put the rank into the file's name: rank_3.txt",
        )
    if ranks and not any(seen.page for seen in ranks):
        what = "what the ranks did before: batches, forwards, calls and their places"
        yield Gap(Source.PAGES, None, f"{what} stand in no dump or log", "run it under `ddpdoctor watch`")
    without = RankSet.of(
        r.rank for r in ranks if r.stacks is None and r.page is None and r.raised is None and not r.exit
    )
    for rank in without if any(r.stacks for r in ranks) else ():
        yield Gap(Source.STACKS, rank, "no stack of it was given", "py-spy dump --pid PID > rank_N.txt")


def _notes(assignment: RankAssignment, by_rank: Mapping[Rank, tuple[Fragment, ...]]) -> Iterable[str]:
    told = {source: assignment.known_by(source) for source in RankSource}
    words = {
        RankSource.CONTENT: "what the files say",
        RankSource.PROCESS: "process ids",
        RankSource.NAME: "file names",
        RankSource.LOCAL: "local ranks, taken for a job on one node or of nodes in the order of their files' names",
        RankSource.ORDER: "the order of process ids: nothing says which rank is which",
        RankSource.TASK: "srun's tasks, taken for ranks",
        RankSource.TEXT_ORDER: "the order of the text alone: no line says which rank is which",
    }
    from_where = [f"{words[source]} ({_ranks(ranks)})" for source, ranks in told.items() if len(ranks)]
    if from_where:
        yield f"rank numbers come from {'; '.join(from_where)}"
    yield from log_waits.notes(assignment.by_rank)
    yield from _nobodys(assignment)
    if by_rank != assignment.by_rank:
        yield "a wait was given up: judged as of then; exits and lost connections after it are consequences"


def _nobodys(assignment: RankAssignment) -> Iterable[str]:
    """What nothing says the rank of: complaints, ends, and exceptions that may be the first failure."""
    for by, text in dict.fromkeys(
        (one.by, one.warning) for one in _all(assignment.unassigned, RankMention) if one.by != "NCCL"
    ):
        yield f"{by}: {text}"
    raised = [
        one for one in _all(assignment.unassigned, Raised) if not is_abandoned_wait(one) and not is_peer_loss(one)
    ]
    for kind, message, site in list(dict.fromkeys((r.type, said(r), raised_site(r)) for r in raised))[:3]:
        where = f" at {site.file}:{site.line}" if site else ""
        yield f"a rank that no line names raised {kind}{f': {message}' if message else ''}{where}"


def _of_groups(timeouts: Mapping[Rank, Sequence[CollectiveTimeout]]) -> Iterable[str]:
    unknown = watchdog_recorders.unknown_groups(timeouts)
    if unknown:
        yield f"who is in the groups that {_ranks(unknown)} waited in, the log does not say: numbers are not compared"


def _ranks(ranks: RankSet) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {ranks}"
