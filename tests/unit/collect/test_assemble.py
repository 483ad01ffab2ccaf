"""Which process is which rank, if the program and its launcher disagree; which thread is which, if py-spy is silent."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, Gone, Part, PartKind, Sample
from ddpdoctor.model.codec import encode
from ddpdoctor.model.evidence import Evidence, Gap, Source, Timing
from ddpdoctor.model.processes import Exit, ProcessState, ThreadState
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.writer import PageWriter

ALIVE = json.dumps(encode(ProcessState(1.0, "S", 1.0, 0))).encode()


def taken(folder: Path, launched: list[int], paged: dict[int, int], dead: tuple[int, ...] = ()) -> Evidence:
    """One sample of processes 100.., launched as these ranks; `paged` are those with a page: pid -> the rank in it."""
    workers = tuple(Worker(100 + n, n, Role.RANK, Rank(rank), rank, 3) for n, rank in enumerate(launched))
    parts = [Part(PartKind.PROCESS, worker.pid, ALIVE) for worker in workers if worker.pid not in dead]
    for pid, rank in paged.items():
        page = PageWriter(str(folder / f"{pid}.page"), {"pid": pid, "started_ticks": 1, "rank": rank, "world_size": 3})
        parts.append(Part(PartKind.PAGE, pid, Path(page.path).read_bytes()))
    gaps = tuple(Gap(Source.PAGES, w.rank, "no page") for w in workers if w.pid not in paged)
    return assemble(Capture((Sample(1.0, workers, tuple(parts), gaps),), Timing(0.0, 0.0, 0.0, 1.0)))


def test_holders_that_may_not_be_looked_at_are_a_gap() -> None:
    rank = Worker(100, 1.0, Role.RANK, Rank(0), 0, 1)
    hidden = "no permission to read the open files of 9 processes"
    thread = ThreadState(100, "python", "S", "pipe_write", 1.0, "write", 1, unseen=hidden)
    state = json.dumps(encode(ProcessState(1.0, "S", 1.0, 0, (thread,)))).encode()
    sample = Sample(1.0, (rank,), (Part(PartKind.PROCESS, 100, state),))
    found = assemble(Capture((sample,), Timing(0.0, 0.0, 0.0, 1.0)))
    (gap,) = found.gaps
    assert (gap.source, gap.rank, gap.remedy) == (Source.PROCESSES, 0, "run ddpdoctor as root")
    assert gap.reason == f"the holder of what it waits on is not known: {hidden}"


def test_names_that_a_page_has_no_room_for_are_a_gap(tmp_path: Path) -> None:
    writer = PageWriter(str(tmp_path / "100.page"), {"pid": 100, "started_ticks": 1, "rank": 0, "world_size": 1})
    assert not writer.text("a" * layout.TEXTS_SIZE)
    rank = Worker(100, 1.0, Role.RANK, Rank(0), 0, 1)
    parts = (Part(PartKind.PROCESS, 100, ALIVE), Part(PartKind.PAGE, 100, Path(writer.path).read_bytes()))
    (gap,) = assemble(Capture((Sample(1.0, (rank,), parts, ()),), Timing(0.0, 0.0, 0.0, 1.0))).gaps
    assert (gap.source, gap.rank) == (Source.PAGES, 0)
    assert "no room" in gap.reason


def pids(evidence: Evidence) -> dict[int, int]:
    return {seen.rank: seen.worker.pid for seen in evidence.ranks}


def test_the_page_has_the_last_word(tmp_path: Path) -> None:
    found = taken(tmp_path, [0, 1, 2], {100: 1, 101: 2, 102: 0})
    assert pids(found) == {0: 102, 1: 100, 2: 101}


def test_the_one_without_a_page_has_the_rank_that_is_left(tmp_path: Path) -> None:
    # GIVEN a program that turns its ranks by one, and a process that has not come to its rendezvous
    found = taken(tmp_path, [0, 1, 2], {100: 1, 102: 0})
    assert pids(found) == {0: 102, 1: 100, 2: 101}
    # THEN what is not seen of it is not said of another
    assert [(gap.source, gap.rank) for gap in found.gaps] == [(Source.PAGES, 2)]


@pytest.mark.parametrize(
    ("launched", "paged", "dead"),
    [
        ([0, 1, 2], {100: 1}, ()),  # two without a page: either may be either
        ([0, 1, 2], {100: 0, 102: 2}, ()),  # nothing speaks against the launcher
        ([0, 1, 2, 1], {100: 0, 101: 1, 102: 2}, (101,)),  # rank 1 was started anew
    ],
)
def test_else_the_launcher_is_believed(
    tmp_path: Path, launched: list[int], paged: dict[int, int], dead: tuple[int, ...]
) -> None:
    found = pids(taken(tmp_path, launched, paged, dead))
    if dead:
        assert found == {0: 100, 1: 103, 2: 102}
    elif len(paged) == 2:
        assert found == {0: 100, 1: 101, 2: 102}
    else:
        assert found[1] in (100, 101)
        assert 2 in found


@pytest.mark.parametrize(
    ("ending", "zombie", "status", "time"),
    [
        ({"kind": "normal", "time": 7.0, "raised": None}, None, 0, 7.0),
        ({"kind": "normal", "time": 7.0, "raised": None}, 3, 3, 7.0),
        (None, -9, -9, 9.0),
        (None, None, None, 9.0),
    ],
)
def test_a_rank_that_nobody_waited_for_ended_as_it_says_itself(
    ending: dict[str, Any] | None, zombie: int | None, status: int | None, time: float, tmp_path: Path
) -> None:
    page = PageWriter(str(tmp_path / "100.page"), {"pid": 100, "started_ticks": 1, "rank": 0, "world_size": 1})
    if ending:
        page.ending(ending)
    rank = Worker(100, 1.0, Role.RANK, Rank(0), 0, 1)
    part = Part(PartKind.PAGE, 100, Path(page.path).read_bytes())
    sample = Sample(9.0, (rank,), (part,), gone=(Gone(100, zombie),))
    (seen,) = assemble(Capture((sample,), Timing(0.0, 0.0, 0.0, 9.0))).ranks
    assert seen.exit is not None
    assert seen.exit.status == status
    assert seen.exit.time == pytest.approx(time)
    # its launcher's word counts more
    (told,) = assemble(Capture((sample,), Timing(0.0, 0.0, 0.0, 9.0), exits=(Exit(100, -11, 8.0),))).ranks
    assert told.exit == Exit(100, -11, 8.0)


def with_children(*alive: tuple[int, ...], listed: tuple[int, ...] = (201, 202)) -> Evidence:
    """Rank 0 in one sample for each of `alive`: the children that live in it, of those that are `listed` in all."""
    rank = Worker(100, 1.0, Role.RANK, Rank(0), 0, 1)
    workers = (rank, *(Worker(pid, 2.0, Role.CHILD, parent=100) for pid in listed))
    samples = (
        Sample(float(n), workers, tuple(Part(PartKind.PROCESS, pid, ALIVE) for pid in (100, *there)), ())
        for n, there in enumerate(alive)
    )
    return assemble(Capture(tuple(samples), Timing(0.0, 0.0, 0.0, 1.0)))


@pytest.mark.parametrize(
    ("alive", "changed"),
    [
        (((201, 202), (201, 202)), False),
        (((201, 202), (202,)), True),
        (((201,), (201, 202)), True),
        (((), (201,), ()), True),
    ],
)
def test_children_that_begin_or_end_between_samples_are_seen(alive: tuple[tuple[int, ...], ...], changed: bool) -> None:
    motion = with_children(*alive).ranks[0].motion
    assert motion is not None
    assert motion.children_changed is changed


@pytest.mark.parametrize("mains", [1, 2])
def test_threads_whose_kernel_number_py_spy_does_not_tell_have_it_from_the_page(tmp_path: Path, mains: int) -> None:
    # GIVEN a process before Python 3.11, two threads of which have called what is hooked
    page = PageWriter(str(tmp_path / "100.page"), {"pid": 100, "started_ticks": 1, "rank": 0, "world_size": 1})
    rows: list[tuple[int, int]] = []
    both = threading.Barrier(2)

    def call() -> None:
        slot = page.slot()
        rows.append((slot.ident, slot.thread))
        # one after the other they might have the same number
        both.wait()

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    frames = [{"filename": "/job/train.py", "line": 3, "name": "train"}]
    told = [{"thread_id": own, "thread_name": "helper", "os_thread_id": None, "frames": frames} for own, _ in rows]
    told += [
        {"thread_id": 7 + n, "thread_name": "MainThread", "os_thread_id": None, "frames": frames} for n in range(mains)
    ]
    told += [{"thread_id": 3, "thread_name": "other", "os_thread_id": None, "frames": frames}]
    parts = (
        Part(PartKind.PAGE, 100, Path(page.path).read_bytes()),
        Part(PartKind.STACKS, 100, json.dumps(told).encode(), "py-spy --nonblocking"),
    )
    sample = Sample(1.0, (Worker(100, 1.0, Role.RANK, Rank(0), 0, 1),), parts)
    # WHEN it is assembled
    (rank,) = assemble(Capture((sample,), Timing(0.0, 0.0, 0.0, 1.0))).ranks
    # THEN these have the page's numbers, the main thread has that of the process, and others have none
    assert rank.stacks is not None
    numbers = [thread.os_id for thread in rank.stacks.threads]
    assert numbers == [*(kernel for _, kernel in rows), *([100] if mains == 1 else [0, 0]), 0]


@pytest.mark.parametrize(("wchan", "napped"), [("hrtimer_nanosleep", True), ("futex_do_wait", False)])
def test_a_main_thread_that_slept_in_an_earlier_sample_has_napped(wchan: str, napped: bool) -> None:
    worker = Worker(100, 1.0, Role.RANK, Rank(0), 0, 1)
    states = [("S", wchan), ("R", "")]
    seen = [ProcessState(n, one, 0.1, 0, (ThreadState(100, "", one, at, 0.1),)) for n, (one, at) in enumerate(states)]
    parts = [Part(PartKind.PROCESS, 100, json.dumps(encode(state)).encode()) for state in seen]
    samples = tuple(Sample(float(n), (worker,), (part,), ()) for n, part in enumerate(parts))
    motion = assemble(Capture(samples, Timing(0.0, 0.0, 0.0, 1.0))).ranks[0].motion
    assert motion is not None
    assert motion.napped is napped
