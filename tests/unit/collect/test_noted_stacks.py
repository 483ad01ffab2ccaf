"""How much of the stacks that a process took of itself is believed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ddpdoctor.collect import noted_stacks
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, Gone, Part, PartKind, Sample
from ddpdoctor.model.codec import encode
from ddpdoctor.model.evidence import Evidence, Gap, Source, Timing
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import ProcessState, ThreadState
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.model.stacks import NotedStacks, NotedThread, Site, StackSource
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.writer import PageWriter

SITE = Site("/job/train.py", 12, "main")
#: pwrite64 is not in the tables; write(1, ...) is
WRITE = "1 0x1 0x7f 0x10 0x0 0x0 0x0 0x7ffc 0x7f00"
MAIN = NotedThread(100, "MainThread", (SITE,), switches=8, wchan="pipe_write", call=WRITE, target="pipe:[77]")
NOTED = NotedStacks(4.0, 10.0, 5, (MAIN,))
ASLEEP = ProcessState(11.0, "S", 1.0, None, (ThreadState(100, "python", "S", "", 1.0, switches=8),))
DENIED = Gap(Source.STACKS, Rank(0), "py-spy may not attach: it is 3", "do this")


def _asleep(*, switches: int | None, state: str = "S") -> ProcessState:
    return replace(ASLEEP, threads=(replace(ASLEEP.threads[0], switches=switches, state=state),))


@pytest.mark.parametrize(
    ("process", "now", "revision", "rested"),
    [
        pytest.param(ASLEEP, 11.0, 5, Observed.YES, id="has not run since"),
        pytest.param(ASLEEP, 9999.0, 6, Observed.YES, id="however long ago that was"),
        pytest.param(_asleep(switches=9), 11.0, 5, Observed.NO, id="has run, and might have been looked at again"),
        pytest.param(_asleep(switches=9), 13.0, 5, None, id="has run, and was not looked at again"),
        pytest.param(_asleep(switches=9), 11.0, 6, None, id="has run, and something was recorded"),
        pytest.param(_asleep(switches=8, state="R"), 13.0, 5, None, id="runs now"),
        pytest.param(_asleep(switches=None), 11.0, 5, Observed.UNKNOWN, id="a kernel that does not count"),
        pytest.param(None, 11.0, 5, Observed.UNKNOWN, id="nothing in /proc"),
        pytest.param(None, 13.0, 5, None, id="nothing in /proc, and old"),
    ],
)
def test_a_stack_that_could_have_changed(
    process: ProcessState | None, now: float, revision: int, rested: Observed | None
) -> None:
    found = noted_stacks.believed(NOTED, process, now, revision=revision)
    assert (found.threads[0].rested if found else None) is rested


def test_files_of_data_workers_that_have_ended_do_not_stay(tmp_path: Path) -> None:
    gone, mine = tmp_path / "99999999.stacks", tmp_path / f"{os.getpid()}.stacks"
    for file in (gone, mine):
        file.write_bytes(b"%020.6f\n{}" % 50.0)
    (tmp_path / "damaged.stacks").write_bytes(b"\xff")
    noted_stacks.forget(tmp_path, 50.0 + noted_stacks.KEPT / 2)
    assert gone.exists()
    noted_stacks.forget(tmp_path, 51.0 + noted_stacks.KEPT)
    assert mine.exists()
    assert not gone.exists()


def test_another_thread_may_be_believed_while_the_main_thread_is_not() -> None:
    other = replace(MAIN, os_id=101, name="writer")
    process = replace(
        ASLEEP, threads=(replace(ASLEEP.threads[0], switches=9), ThreadState(101, "python", "S", "", 1.0, switches=8))
    )
    noted = replace(NOTED, threads=(MAIN, other))
    assert noted_stacks.believed(noted, process, 99.0, revision=5) is None
    swapped = replace(NOTED, threads=(other, MAIN))
    found = noted_stacks.believed(swapped, process, 99.0, revision=5)
    assert found is not None
    assert [thread.os_id for thread in found.threads] == [101]


def test_what_only_the_process_itself_may_know_of_its_sleep() -> None:
    found = noted_stacks.believed(NOTED, ASLEEP, 11.0, revision=5)
    assert found is not None
    process = noted_stacks.completed(ASLEEP, NOTED, found)
    (thread,) = process.threads
    assert (thread.wchan, thread.call, thread.descriptor) == ("pipe_write", "write", 1)
    assert [(one.number, one.kind, one.target) for one in process.descriptors] == [(1, "pipe", "pipe:[77]")]
    # what the kernel says itself is kept
    told = replace(ASLEEP, threads=(replace(ASLEEP.threads[0], wchan="futex_wait_queue", call="futex"),))
    assert noted_stacks.completed(told, NOTED, found).threads[0] == told.threads[0]


def test_of_a_thread_that_has_run_the_call_is_not_known() -> None:
    process = _asleep(switches=9)
    found = noted_stacks.believed(NOTED, process, 11.0, revision=5)
    assert found is not None
    assert noted_stacks.completed(process, NOTED, found).threads[0].call == ""


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'1.0\n{"time": 1.0, "files": 3, "threads": []}', b"\xff"])
def test_what_is_no_stacks_file(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        noted_stacks.parse(data)


def test_damage_is_left_out_and_names_are_shown_without_terminal_escapes() -> None:
    frames = [[0, 3, "f\u001b[31m"], [9, 3, "g"], ["x"], 5]
    data = {"time": 1.0, "files": ["/a\u0007.py"], "threads": [{"id": "x", "frames": frames}, 4]}
    (thread,) = noted_stacks.parse(b"1.0\n" + json.dumps(data).encode()).threads
    assert thread == NotedThread(0, "", (Site("/a.py", 3, "f"),))


def _evidence(folder: Path, process: ProcessState, gaps: tuple[Gap, ...], gone: tuple[Gone, ...] = ()) -> Evidence:
    page = PageWriter(str(folder / "100.page"), {"pid": 100, "started_ticks": 1, "rank": 0, "world_size": 1})
    page._clocks[layout.HEARTBEAT] = 10.0
    thread = {"id": 100, "name": "MainThread", "frames": [[0, 12, "main"]], "switches": 8, "wchan": "", "call": ""}
    page.stacks({"time": 10.0, "revision": page.revision(), "files": ["/job/train.py"], "threads": [thread]})
    parts = (
        Part(PartKind.PAGE, 100, Path(page.path).read_bytes()),
        Part(PartKind.PROCESS, 100, json.dumps(encode(process)).encode()),
    )
    sample = Sample(11.0, (Worker(100, 1.0, Role.RANK, Rank(0), 0, 1),), parts, gaps, gone)
    return assemble(Capture((sample,), Timing(0.0, 0.0, 0.0, 11.0)))


def test_they_close_the_gap_and_say_where_they_come_from(tmp_path: Path) -> None:
    found = _evidence(tmp_path, ASLEEP, (DENIED,))
    (rank,) = found.ranks
    assert rank.stacks is not None
    assert (rank.stacks.source, rank.stacks.age) == (StackSource.PROBE, 1.0)
    assert rank.stacks.threads[0].frames == (SITE,)
    assert found.gaps == ()
    (note,) = found.notes
    assert note == (
        "stacks of rank 0 are those that the probe took inside of them, up to 1.0 s before: "
        "py-spy may not attach: it is 3 (do this)"
    )


def test_what_is_not_believed_leaves_the_gap(tmp_path: Path) -> None:
    found = _evidence(tmp_path, replace(_asleep(switches=9), time=20.0), (DENIED,))
    assert found.ranks[0].stacks is None
    assert found.gaps == (DENIED,)
    assert found.notes == ()


def test_a_rank_that_has_ended_is_nowhere(tmp_path: Path) -> None:
    found = _evidence(tmp_path, ASLEEP, (), (Gone(100, -9),))
    assert found.ranks[0].stacks is None


def test_the_file_of_a_data_worker(tmp_path: Path) -> None:
    thread = {"id": 200, "name": "MainThread", "frames": [[0, 30, "__getitem__"]], "switches": 4}
    text = json.dumps({"time": 4.0, "files": ["/job/data.py"], "threads": [thread]})
    (tmp_path / "200.stacks").write_text(f"10.0\n{text}")
    file = noted_stacks.fetch(tmp_path, 200)
    assert file is not None
    state = ProcessState(11.0, "S", 1.0, None, (ThreadState(200, "python", "S", "", 1.0, switches=4),))
    rank = Worker(100, 1.0, Role.RANK, Rank(0), 0, 1)
    child = Worker(200, 2.0, Role.CHILD, parent=100)
    parts = (
        Part(PartKind.PROCESS, 100, json.dumps(encode(ASLEEP)).encode()),
        Part(PartKind.PROCESS, 200, json.dumps(encode(state)).encode()),
        Part(PartKind.STACKS, 200, file, StackSource.PROBE.value),
    )
    gap = replace(DENIED, rank=None)
    found = assemble(Capture((Sample(11.0, (rank, child), parts, (gap,)),), Timing(0.0, 0.0, 0.0, 11.0)))
    (seen,) = found.ranks[0].children
    assert seen.stacks is not None
    assert seen.stacks.threads[0].frames == (Site("/job/data.py", 30, "__getitem__"),)
    assert "data workers" in found.notes[0]
    assert found.gaps == ()


@pytest.mark.parametrize(
    ("wchan", "switches", "moved"), [("anon_pipe_write", 9, 1), ("anon_pipe_write", 8, 0), ("futex_do_wait", 9, 0)]
)
def test_a_pipe_that_moves_where_the_kernel_hides_its_bytes(wchan: str, switches: int, moved: int) -> None:
    def asleep(count: int) -> ProcessState:
        return ProcessState(1.0, "S", 1.0, None, (ThreadState(100, "python", "S", wchan, 1.0, switches=count),))

    assert asleep(switches).io_since(asleep(8), 100) == moved
