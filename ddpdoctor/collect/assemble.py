"""Pure. Raw parts -> Evidence, by the same code for a live job and for the replay of a bundle."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from ddpdoctor.collect import faulthandler, flight_recorder, narrow, noted_stacks, procfs, pyspy
from ddpdoctor.collect.capture import Capture, Gone, PartKind, Sample
from ddpdoctor.collect.page import decode_page
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Exit, Motion, ProcessState, ThreadState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import MOST_RANKS, Rank, RankSet, Role, Worker
from ddpdoctor.model.stacks import NotedStacks, Site, Stacks, StackSource
from ddpdoctor.probe.page import HEARTBEAT_SECONDS
from ddpdoctor.probe.redact import redacted, redacted_command

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class _Look:
    """One sample with its parts decoded; each mapping is indexed by pid."""

    time: float
    pages: Mapping[int, Page]
    recorders: Mapping[int, Recorder]
    stacks: Mapping[int, Stacks]
    processes: Mapping[int, ProcessState]
    fatal: Mapping[int, bytes]
    gaps: tuple[Gap, ...]
    #: exits that no parent has told
    ended: Mapping[int, Exit]
    #: why stacks that processes have taken of themselves are used; None if none are
    refused: Gap | None = None


def assemble(capture: Capture) -> Evidence:
    """Join all parts by process and rank. Raises ValueError for a capture without a sample."""
    if not capture.samples:
        raise ValueError("a capture needs at least one sample")
    looks = [_narrowed(_look(sample), capture.threads) for sample in capture.samples]
    last, workers = looks[-1], capture.samples[-1].workers
    told = {e.pid: e for e in capture.exits}
    exits = {**last.ended, **{pid: _no_later(exit_, last) for pid, exit_ in told.items()}}
    families = _families(worker for sample in capture.samples for worker in sample.workers)
    ranks = [_rank(w, workers, looks, exits.get(w.pid), families) for w in _rank_workers(workers, last)]
    return Evidence(
        world_size=_world_size(workers, last),
        ranks=tuple(sorted(ranks, key=lambda r: r.rank)),
        timing=capture.timing,
        gaps=tuple(dict.fromkeys((*_gaps(last, workers, ranks), *_unseen_holders(ranks), *_unnamed(ranks)))),
        code=capture.code,
        command=redacted_command(capture.command),
        versions=capture.versions,
        environment=capture.environment,
        notes=(*_own_stacks_note(last, ranks), *_narrow_note(capture.threads, ranks)),
        course=capture.course,
        end=capture.end,
        memory_kills=capture.memory_kills,
    )


def _look(sample: Sample) -> _Look:
    gaps = list(sample.gaps)
    by_pid = {w.pid: w for w in sample.workers}

    def decoded(kind: PartKind, source: Source, parse: Callable[[bytes, str], T | None]) -> dict[int, T]:
        found: dict[int, T] = {}
        for part in sample.parts:
            if part.kind is not kind:
                continue
            try:
                value = parse(part.data, part.source)
            except (ValueError, TypeError, OverflowError, RecursionError) as error:
                worker = by_pid.get(part.pid)
                gaps.append(Gap(source, worker.rank if worker else None, f"damaged: {error}"))
            else:
                if value is not None:
                    found[part.pid] = value
        return found

    pages = decoded(PartKind.PAGE, Source.PAGES, lambda data, _: _shown(decode_page(data)))
    seen = decoded(PartKind.STACKS, Source.STACKS, _read_from_outside)
    look = _Look(
        time=sample.time,
        pages=pages,
        recorders=decoded(PartKind.RECORDER, Source.RECORDER, lambda data, _: flight_recorder.parse(data)),
        stacks={pid: _numbered(x, pid, pages.get(pid)) for pid, x in seen.items()},
        processes=decoded(PartKind.PROCESS, Source.PROCESSES, lambda data, _: procfs.parse(data)),
        fatal=decoded(PartKind.FATAL, Source.FAULTHANDLER, lambda data, _: data),
        gaps=tuple(gaps),
        ended={gone.pid: _exit(gone, pages.get(gone.pid), sample.time) for gone in sample.gone},
    )
    noted = decoded(PartKind.STACKS, Source.STACKS, _read_from_inside)
    return _with_own_stacks(look, noted, sample.workers)


def _narrowed(look: _Look, threads: Mapping[int, tuple[int, ...]]) -> _Look:
    """The look with only these threads of these processes."""
    if not threads:
        return look
    return dataclasses.replace(
        look,
        pages={pid: narrow.page(x, threads[pid]) if pid in threads else x for pid, x in look.pages.items()},
        stacks={pid: narrow.stacks(x, threads[pid]) if pid in threads else x for pid, x in look.stacks.items()},
        processes={pid: narrow.process(x, threads[pid]) if pid in threads else x for pid, x in look.processes.items()},
    )


def _numbered(stacks: Stacks, pid: int, page: Page | None) -> Stacks:
    """With the kernel's numbers of threads that py-spy could not tell: before Python 3.11 only threads that called what
    is hooked, which are on the page, and the main thread have one."""
    if all(thread.os_id for thread in stacks.threads):
        return stacks
    known = {one.ident: one.os_id for one in page.thread_numbers} if page is not None else {}
    main = stacks.main() if [thread.name for thread in stacks.threads].count("MainThread") == 1 else None
    return dataclasses.replace(
        stacks,
        threads=tuple(
            dataclasses.replace(one, os_id=one.os_id or known.get(one.ident, pid if one is main else 0))
            for one in stacks.threads
        ),
    )


def _read_from_outside(data: bytes, source: str) -> Stacks | None:
    return None if source == StackSource.PROBE.value else pyspy.parse(data, StackSource(source))


def _read_from_inside(data: bytes, source: str) -> NotedStacks | None:
    return noted_stacks.parse(data) if source == StackSource.PROBE.value else None


def _with_own_stacks(look: _Look, noted: Mapping[int, NotedStacks], workers: tuple[Worker, ...]) -> _Look:
    """The look with the stacks that processes have taken of themselves, where they could not be read from outside and
    still hold: a rank's are on its page, those of data workers and of ranks without a page are `noted`."""
    noted = {**{pid: page.stacks for pid, page in look.pages.items() if page.stacks}, **noted}
    stacks, processes = dict(look.stacks), dict(look.processes)
    for pid, taken in noted.items():
        if pid in stacks or pid in look.ended:
            continue
        process, page = processes.get(pid), look.pages.get(pid)
        now = process.time if process else look.time
        held = noted_stacks.believed(taken, process, now, revision=page.revision if page else None)
        if held is not None:
            stacks[pid] = held
            if process is not None:
                processes[pid] = noted_stacks.completed(process, taken, held)
    return _without_closed_gaps(dataclasses.replace(look, stacks=stacks, processes=processes), workers)


def _without_closed_gaps(look: _Look, workers: tuple[Worker, ...]) -> _Look:
    """The look without the gaps of processes whose stacks are there all the same."""
    seen = {worker.rank for worker in workers if worker.role is Role.RANK and worker.pid in look.stacks}
    seen |= {page.rank for pid, page in look.pages.items() if pid in look.stacks}
    if all(worker.pid in look.stacks for worker in workers if worker.role is Role.CHILD):
        seen.add(None)  # gaps of children name no rank
    closed = [gap for gap in look.gaps if gap.source is Source.STACKS and gap.rank in seen]
    gaps = tuple(gap for gap in look.gaps if gap not in closed)
    return dataclasses.replace(look, gaps=gaps, refused=next(iter(closed), None))


def _own_stacks_note(look: _Look, ranks: list[RankEvidence]) -> Iterator[str]:
    """Whose stacks were not read from outside, how old they are, and what to do about it."""
    own = {pid: stacks for pid, stacks in look.stacks.items() if stacks.source is StackSource.PROBE}
    if own and look.refused is not None:
        members = RankSet.of(seen.rank for seen in ranks if seen.worker.pid in own)
        whose = f"rank{'s' * (len(members) > 1)} {members}" if members else "data workers"
        age = max(stacks.age for stacks in own.values())
        yield (
            f"stacks of {whose} are those that the probe took inside of them, up to {age:.1f} s before: "
            f"{look.refused.reason}" + (f" ({look.refused.remedy})" if look.refused.remedy else "")
        )


def _narrow_note(threads: Mapping[int, tuple[int, ...]], ranks: list[RankEvidence]) -> Iterator[str]:
    members = RankSet.of(seen.rank for seen in ranks if seen.worker.pid in threads)
    if members:
        whose = f"rank{'s' * (len(members) > 1)} {members}"
        yield f"of {whose} only the threads that stand still are shown: the others go on"


def _no_later(told: Exit, last: _Look) -> Exit:
    """An exit as its parent told it, who may have noticed it late: what is gone in a sample had ended by then."""
    return dataclasses.replace(told, time=min(told.time, last.time)) if told.pid in last.ended else told


def _exit(gone: Gone, page: Page | None, now: float) -> Exit:
    """How it ended and about when, by what it left: a zombie, a page."""
    if page is None:
        return Exit(gone.pid, gone.status, now)
    if page.ending is None:
        # the next heartbeat did not come any more
        return Exit(gone.pid, gone.status, min(now, page.heartbeat + HEARTBEAT_SECONDS))
    return Exit(gone.pid, page.ending.kind.status if gone.status is None else gone.status, page.ending.time)


def _shown(page: Page) -> Page:
    """The page with its exception texts sanitised."""
    ending = page.ending
    if ending is not None and ending.raised is not None:
        ending = dataclasses.replace(ending, raised=_redacted(ending.raised))
    leaving = _redacted(page.leaving) if page.leaving else None
    pending = tuple(_redacted(raised) for raised in page.pending)
    threads = tuple(dataclasses.replace(one, raised=_redacted(one.raised)) for one in page.ended_threads)
    return dataclasses.replace(page, pending=pending, ending=ending, leaving=leaving, ended_threads=threads)


def _redacted(raised: Raised) -> Raised:
    return dataclasses.replace(
        raised,
        message=redacted(raised.message),
        traceback=redacted(raised.traceback),
        before=tuple(map(_redacted, raised.before)),
    )


def _rank_workers(workers: tuple[Worker, ...], look: _Look) -> list[Worker]:
    """One process per rank. The rank in the page takes precedence over the one in the environment, the youngest process
    over others.

    After a restart an older process of the same rank may still be listed, although it has ended.
    """
    chosen: dict[Rank, Worker] = {}
    by_elimination = _by_elimination(workers, look)
    for worker in sorted(workers, key=lambda w: w.started):
        page = look.pages.get(worker.pid)
        rank = page.rank if page is not None and page.rank >= 0 else by_elimination.get(worker.pid, worker.rank)
        if worker.role is Role.RANK and rank is not None:
            chosen[rank] = dataclasses.replace(worker, rank=rank)
    return [chosen[rank] for rank in sorted(chosen)]


def _by_elimination(workers: tuple[Worker, ...], look: _Look) -> dict[int, Rank]:
    """pid -> rank for the one live process without a page whose environment names a rank that another process's page
    has.

    A program may assign other ranks than its launcher did. If only one process and one rank are left, they belong
    together.
    """
    living = [worker for worker in workers if worker.role is Role.RANK and worker.pid in look.processes]
    paged = {worker.pid: page.rank for worker in living if (page := look.pages.get(worker.pid)) and page.rank >= 0}
    taken = set(paged.values())
    homeless = [worker for worker in living if worker.pid not in paged and worker.rank in taken]
    others = {worker.rank for worker in living if worker.pid not in paged and worker.rank not in taken}
    left = set(range(_world_size(workers, look))) - taken - others
    if len(homeless) != 1 or len(left) != 1 or len(living) != len(paged) + len(others) + 1:
        return {}
    return {homeless[0].pid: Rank(left.pop())}


def _world_size(workers: tuple[Worker, ...], look: _Look) -> int:
    sizes = [page.world_size for page in look.pages.values()] + [w.world_size for w in workers if w.world_size]
    ranks = [w.rank + 1 for w in workers if w.rank is not None] + [p.rank + 1 for p in look.pages.values()]
    return max((number for number in (*sizes, *ranks) if number <= MOST_RANKS), default=0)


def _families(workers: Iterable[Worker]) -> dict[int, set[int]]:
    """pid -> its children in any sample."""
    found: dict[int, set[int]] = {}
    for worker in workers:
        if worker.role is Role.CHILD and worker.parent is not None:
            found.setdefault(worker.parent, set()).add(worker.pid)
    return found


def _rank(
    worker: Worker,
    workers: tuple[Worker, ...],
    looks: list[_Look],
    ended: Exit | None,
    families: Mapping[int, set[int]],
) -> RankEvidence:
    assert worker.rank is not None
    last = looks[-1]
    fatal = last.fatal.get(worker.pid, b"")
    stacks = last.stacks.get(worker.pid)
    if stacks is None and fatal:
        stacks = faulthandler.parse(fatal)
    family = [w for w in workers if w.role is Role.CHILD and w.parent == worker.pid]
    return RankEvidence(
        rank=worker.rank,
        worker=worker,
        page=last.pages.get(worker.pid),
        recorder=last.recorders.get(worker.pid),
        stacks=stacks,
        process=last.processes.get(worker.pid),
        motion=_motion(worker.pid, looks, families.get(worker.pid, set())),
        exit=ended,
        children=tuple(
            Child(child, last.processes.get(child.pid), last.stacks.get(child.pid), _motion(child.pid, looks))
            for child in family
        ),
        fatal=redacted(fatal.decode(errors="replace")),
    )


def _motion(pid: int, looks: list[_Look], children: Collection[int] = ()) -> Motion | None:
    """What changed from the first sample to the last, or, of lines and children, from any sample to the next."""
    if len(looks) < 2:
        return None
    first, last = looks[0], looks[-1]
    before, after = first.processes.get(pid), last.processes.get(pid)
    pages = first.pages.get(pid), last.pages.get(pid)
    thread = pages[1].training_thread if pages[1] else pid
    return Motion(
        seconds=after.time - before.time if before and after else last.time - first.time,
        cpu_seconds=after.cpu_seconds - before.cpu_seconds if before and after else 0.0,
        io_bytes=(after.io_bytes or 0) - (before.io_bytes or 0) if before and after else 0,
        lines_moved=_lines_moved(pid, looks),
        page_moved=Observed.of(pages[0].revision != pages[1].revision) if pages[0] and pages[1] else Observed.UNKNOWN,
        main_io_bytes=after.io_since(before, thread) if before and after else 0,
        children_changed=len({_alive(children, look) for look in looks}) > 1,
        napped=any(state.naps for look in looks[:-1] if (state := _thread(look, pid, thread))),
    )


def _thread(look: _Look, pid: int, thread: int) -> ThreadState | None:
    process = look.processes.get(pid)
    return process.thread(thread) if process else None


def _alive(pids: Collection[int], look: _Look) -> frozenset[int]:
    return frozenset(pid for pid in pids if (seen := look.processes.get(pid)) is not None and seen.state != "Z")


def _lines_moved(pid: int, looks: list[_Look]) -> Observed:
    """Whether the main thread is at another line in some sample than in the one before, or other threads are in most.

    A helper thread that wakes now and then is none that others wait for, and the more samples, the more show one.
    """
    stacks = [look.stacks.get(pid) for look in looks]
    pairs = [(one, other) for one, other in itertools.pairwise(stacks) if one and other]
    moved = sum(_lines(one) != _lines(other) for one, other in pairs)
    if 2 * moved > len(pairs) or any(_main_line(one) != _main_line(other) for one, other in pairs):
        return Observed.YES
    return Observed.NO if len(pairs) == len(looks) - 1 else Observed.UNKNOWN


def _main_line(stacks: Stacks) -> tuple[Site, ...]:
    main = stacks.main()
    return main.frames if main else ()


def _lines(stacks: Stacks) -> dict[int, tuple[Site, ...]]:
    """The frames of each thread; the probe's heartbeat thread and waiting helper threads are left out, as they always
    move or repeat."""
    return {t.os_id: t.frames for t in stacks.threads if not _is_heartbeat(t.frames)}


def _is_heartbeat(frames: tuple[Site, ...]) -> bool:
    return any("/ddpdoctor/probe/" in frame.file for frame in frames)


def _gaps(last: _Look, workers: tuple[Worker, ...], ranks: list[RankEvidence]) -> list[Gap]:
    """Gaps of processes that still run, under the ranks these processes turned out to have."""
    launched = {worker.pid: worker.rank for worker in workers}
    moved = {launched[seen.worker.pid]: seen.rank for seen in ranks if launched.get(seen.worker.pid) != seen.rank}
    paged = {seen.rank for seen in ranks if seen.page is not None}
    found: list[Gap] = []
    for gap in last.gaps:
        # only a process without a page can have been given another rank, and only what the probe provides is missing
        # there
        if gap.source in (Source.PAGES, Source.RECORDER) and gap.rank in moved and gap.rank in paged:
            gap = dataclasses.replace(gap, rank=moved[gap.rank])
        if not _expected(gap, ranks):
            found.append(gap)
    return found


def _expected(gap: Gap, ranks: list[RankEvidence]) -> bool:
    """Whether a gap is explained by the process's exit, so that it need not be reported."""
    gone = {r.rank for r in ranks if r.exit is not None}
    return gap.rank in gone and gap.source in (Source.STACKS, Source.PROCESSES, Source.RECORDER)


def _unnamed(ranks: list[RankEvidence]) -> list[Gap]:
    """Ranks whose page has no room left for the names of places and groups."""
    reason = "its page had no room for the names of more lines and process groups: of calls there they are not known"
    remedy = "make process groups once, not in every step"
    return [Gap(Source.PAGES, seen.rank, reason, remedy) for seen in ranks if seen.page and seen.page.texts_lost]


def _unseen_holders(ranks: list[RankEvidence]) -> list[Gap]:
    """Ranks that wait on something whose holder may be among the processes that could not be inspected."""
    return [
        Gap(
            Source.PROCESSES,
            seen.rank,
            f"the holder of what it waits on is not known: {thread.unseen}",
            "run ddpdoctor as root",
        )
        for seen in ranks
        for thread in (seen.process.threads if seen.process else ())
        if thread.os_id == seen.worker.pid and thread.unseen and not thread.holders
    ]
