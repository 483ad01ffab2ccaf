"""Pure. Pieces -> Evidence: the same vocabulary that a live look gives, with what is missing told as gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ddpdoctor.archive import log_waits, watchdog_recorders
from ddpdoctor.archive.exit_inference import departure
from ddpdoctor.archive.fragment import Ended, Fatal, Format, Mention, Missing, Piece, RankFrom, Timeout
from ddpdoctor.archive.rank_assignment import Placed, Who, place, who
from ddpdoctor.archive.text_reader import gave_up
from ddpdoctor.archive.timeout_aftereffects import before_the_timeout
from ddpdoctor.collect.redact import redacted
from ddpdoctor.diagnose.digest.failure import is_peer_loss, raised_site, said
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source, Timing
from ddpdoctor.model.processes import Child, Exit, Motion, ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import Rank, RankSet, Role, Worker
from ddpdoctor.model.stacks import Rung, Stacks

T = TypeVar("T")

#: which stacks tell more, best first
_RUNGS = (Rung.PYSPY, Rung.PYSPY_NONBLOCKING, Rung.DEBUGGER, Rung.FAULTHANDLER, Rung.TRACEBACK)
#: a log may name a rank that is no rank; no more of them are believed without anything else
_MOST_RANKS = 1 << 17


def assemble(pieces: Sequence[Piece], gaps: Sequence[Gap] = ()) -> Evidence:
    """Join all pieces by rank. Where nothing can be placed the Evidence has no ranks."""
    placed = place([piece for piece in pieces if piece.rank is None or piece.rank < _MOST_RANKS])
    by_rank = before_the_timeout(placed.by_rank)
    world = world_size(placed)
    timeouts = {rank: _all(of_rank, Timeout) for rank, of_rank in by_rank.items()}
    logged = watchdog_recorders.recorders(timeouts)
    reported = log_waits.reported(by_rank, world)
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
        gaps=(*gaps, *_gaps(placed, ranks)),
        notes=(*_notes(placed, by_rank), *_of_groups(timeouts)),
        alleged=not any(seen.page for seen in ranks),
        size_told=_size_told(placed),
        unnamed=len(placed.told_by(RankFrom.NOBODY)) > 0,
    )


def world_size(placed: Placed) -> int:
    """As many ranks as any piece says there are, or as are seen."""
    sizes = [piece.world_size for pieces in placed.by_rank.values() for piece in pieces if piece.world_size]
    sizes += [piece.world_size for piece in placed.lost if piece.world_size]
    sizes += [rank + 1 for rank in placed.by_rank]
    missing = [piece.payload for of_rank in placed.by_rank.values() for piece in of_rank]
    sizes += [rank + 1 for one in missing if isinstance(one, Missing) for rank in one.named if rank < _MOST_RANKS]
    return min(max(sizes, default=0), _MOST_RANKS)


def _size_told(placed: Placed) -> bool:
    """A page, a rendezvous, a communicator or a recorder's group says how many ranks there are."""
    every = [*placed.lost, *(piece for of_rank in placed.by_rank.values() for piece in of_rank)]
    recorders = _all(every, Recorder)
    return any(piece.world_size for piece in every) or any(g.members for r in recorders for g in r.groups)


def _rank(rank: Rank, pieces: tuple[Piece, ...], logged: Recorder | None, timing: Timing, looks: int) -> RankEvidence:
    """`looks`: how often the processes of the job were looked at."""
    workers = dict.fromkeys(p.pid for p in pieces if isinstance(p.payload, Stacks) and who(p.payload) is Who.LOADER)
    family, pieces = pieces, tuple(piece for piece in pieces if piece.pid is None or piece.pid not in workers)
    pages, processes = _all(pieces, Page), _all(pieces, ProcessState)
    stacks = _stacks(pieces)
    recorders = _all(pieces, Recorder)
    ended = [piece for piece in pieces if isinstance(piece.payload, Ended)]
    pid = next((p.pid for p in pieces if isinstance(p.payload, Page | Stacks | Ended) and p.pid), None) or 0
    return RankEvidence(
        rank=rank,
        worker=Worker(pid, 0.0, Role.RANK, rank),
        page=pages[-1] if pages else None,
        recorder=max(recorders, key=lambda r: len(r.entries)) if recorders else logged,
        stacks=stacks[-1] if stacks else None,
        process=processes[-1] if processes else None,
        motion=_motion(pages, processes, stacks),
        exit=_exit(ended, pages, timing) or departure(pieces, timing, looks),
        children=tuple(_child(worker, pid, family) for worker in workers),
        fatal=redacted("\n".join(fatal.text for fatal in _all(pieces, Fatal))),
        raised=_raised(pieces, timing) if not pages else None,
    )


def _child(pid: int | None, parent: int, family: tuple[Piece, ...]) -> Child:
    """A data worker: its stacks, and its process if that was looked at."""
    pieces = [piece for piece in family if piece.pid == pid]
    processes, stacks = _all(pieces, ProcessState), _all(pieces, Stacks)
    worker = Worker(pid or 0, 0.0, Role.CHILD, parent=parent)
    return Child(worker, processes[-1] if processes else None, stacks[-1], _motion([], processes, stacks))


def _all(pieces: Iterable[Piece], kind: type[T]) -> list[T]:
    return [piece.payload for piece in pieces if isinstance(piece.payload, kind)]


def _stacks(pieces: Iterable[Piece]) -> list[Stacks]:
    """The rank's own stacks of the best source, oldest first.

    Of one format only: two formats write the same path in two ways, which must not pass for movement.
    """
    every = [
        (_RUNGS.index(piece.payload.rung), piece.format is Format.TEXT, piece.payload)
        for piece in pieces
        if isinstance(piece.payload, Stacks) and who(piece.payload) is Who.RANK
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


def _exit(ended: list[Piece], pages: list[Page], timing: Timing) -> Exit | None:
    """The launcher's summary before the line that it logs first, which knows the local rank only."""
    best = sorted(ended, key=lambda p: (p.rank_from is not RankFrom.CONTENT, p.time is None))[:1]
    for piece in best:
        assert isinstance(piece.payload, Ended)
        clock = piece.time if piece.time is not None and not pages else timing.collected
        return Exit(piece.pid or 0, piece.payload.status, clock)
    return None


def _raised(pieces: tuple[Piece, ...], timing: Timing) -> Raised | None:
    """What the rank raised, at the time at which it was seen to end, and in the order of the log's lines."""
    ended = _all(pieces, Ended)
    every = [*_all(pieces, Raised), *(one.raised for one in ended if one.raised)]
    if not every:
        return None
    times = [*(one.time for one in ended if one.time), *(piece.time for piece in pieces if piece.time)]
    last = every[-1]
    return replace(last, time=min(times, default=timing.collected) + min(last.time, 1e8) * 1e-9)


def _timing(by_rank: Mapping[Rank, tuple[Piece, ...]]) -> Timing:
    """Pages and processes have the clock of their machine; logs have a calendar's. They are never mixed."""
    pieces = [piece for of_rank in by_rank.values() for piece in of_rank]
    pages, processes = _all(pieces, Page), _all(pieces, ProcessState)
    if pages:
        started = min((event.time for page in pages for event in page.events[:1]), default=pages[0].moved)
        looked = [process.time for process in processes] or [page.heartbeat for page in pages]
        moved = max(page.moved for page in pages)
        return Timing(min(started, moved), moved, max(looked), max(looked))
    times = [piece.time for piece in pieces if piece.time is not None]
    latest = max(times, default=0.0)
    return Timing(latest, latest, latest, latest)


def _gaps(placed: Placed, ranks: tuple[RankEvidence, ...]) -> Iterable[Gap]:
    lost = sorted({piece.name for piece in placed.lost if not isinstance(piece.payload, Mention | Missing)})
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


def _notes(placed: Placed, by_rank: Mapping[Rank, tuple[Piece, ...]]) -> Iterable[str]:
    told = {source: placed.told_by(source) for source in RankFrom}
    words = {
        RankFrom.CONTENT: "what the files say",
        RankFrom.PROCESS: "process ids",
        RankFrom.NAME: "file names",
        RankFrom.LOCAL: "local ranks, taken for a job on one node or of nodes in the order of their files' names",
        RankFrom.ORDER: "the order of process ids: nothing says which rank is which",
        RankFrom.TASK: "srun's tasks, taken for ranks",
        RankFrom.NOBODY: "the order of the text alone: no line says which rank is which",
    }
    from_where = [f"{words[source]} ({_ranks(ranks)})" for source, ranks in told.items() if len(ranks)]
    if from_where:
        yield f"rank numbers come from {'; '.join(from_where)}"
    yield from log_waits.notes(placed.by_rank)
    yield from _nobodys(placed)
    if by_rank != placed.by_rank:
        yield "a wait was given up: judged as of then; exits and lost connections after it are consequences"


def _nobodys(placed: Placed) -> Iterable[str]:
    """What nothing says the rank of: complaints, ends, and exceptions that may be the first failure."""
    for by, text in dict.fromkeys((one.by, one.warning) for one in _all(placed.lost, Mention) if one.by != "NCCL"):
        yield f"{by}: {text}"
    raised = [one for one in _all(placed.lost, Raised) if not gave_up(one) and not is_peer_loss(one)]
    for kind, message, site in list(dict.fromkeys((r.type, said(r), raised_site(r)) for r in raised))[:3]:
        where = f" at {site.file}:{site.line}" if site else ""
        yield f"a rank that no line names raised {kind}{f': {message}' if message else ''}{where}"


def _of_groups(timeouts: Mapping[Rank, Sequence[Timeout]]) -> Iterable[str]:
    unknown = watchdog_recorders.unknown_groups(timeouts)
    if unknown:
        yield f"who is in the groups that {_ranks(unknown)} waited in, the log does not say: numbers are not compared"


def _ranks(ranks: RankSet) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {ranks}"
