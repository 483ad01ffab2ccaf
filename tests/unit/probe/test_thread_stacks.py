"""The stacks that a process takes of itself: what they hold, when they are written, and that they are bounded."""

from __future__ import annotations

import multiprocessing
import os
import struct
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.collect import noted_stacks, procfs
from ddpdoctor.collect.page import decode_page, read_file
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import NotedStacks, NotedThread
from ddpdoctor.probe import heartbeat, state, thread_stacks
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.writer import PageWriter

IDENTITY = {"pid": 7, "started_ticks": 99, "rank": 1, "world_size": 4, "torch_version": "2.13.0", "backend": "gloo"}


@contextmanager
def waiting(name: str = "waits") -> Iterator[tuple[threading.Thread, threading.Condition]]:
    """A thread inside `Condition.wait`, at the same line again whenever it is woken."""
    inside, woken, done = threading.Event(), threading.Condition(), threading.Event()

    def until_done() -> None:
        with woken:
            inside.set()
            while not done.is_set():
                woken.wait()

    thread = threading.Thread(target=until_done, name=name)
    thread.start()
    inside.wait()
    time.sleep(0.05)
    try:
        yield thread, woken
    finally:
        done.set()
        wake(woken)
        thread.join()


def wake(woken: threading.Condition) -> None:
    with woken:
        woken.notify_all()


def taken() -> dict[str, Any]:
    return thread_stacks.taken(thread_stacks._numbers(os.getpid(), {}), ())


def noted() -> NotedStacks:
    """As a reader sees them."""
    found = noted_stacks.decode({"time": time.monotonic(), **in_another_thread(taken)}, seen=time.monotonic())
    assert found is not None
    return found


def in_another_thread(work: Callable[[], Any]) -> Any:
    """The result of a function in a thread of its own, as the heartbeat is one."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def of(stacks: NotedStacks, name: str) -> NotedThread:
    return next(thread for thread in stacks.threads if thread.name == name)


def held(stacks: NotedStacks, thread: int) -> Observed:
    """Whether a sample of this process finds that the thread has not run since."""
    sample = procfs.fetch(Worker(os.getpid(), 0.0, Role.RANK))
    assert isinstance(sample, bytes)
    found = noted_stacks.believed(stacks, procfs.parse(sample), time.monotonic())
    assert found is not None
    return next(one.rested for one in found.threads if one.os_id == thread)


def test_what_a_thread_is_in_and_what_it_sleeps_in() -> None:
    with waiting("mine") as (thread, _):
        stacks = noted()
        found = of(stacks, "mine")
        assert found.os_id == thread.native_id
        functions = [frame.function.rpartition(".")[2] for frame in found.frames]
        assert functions[:2] == ["wait", "until_done"]
        assert found.frames[1].file == __file__
        assert found.switches is not None
        assert stacks.threads[0].os_id == os.getpid()
        assert not any(frame.file.endswith("thread_stacks.py") for one in stacks.threads for frame in one.frames[:1])


def test_a_thread_that_has_not_run_is_where_it_was_and_one_that_has_is_not_known_to_be() -> None:
    with waiting() as (thread, woken):
        number = thread.native_id
        assert number is not None
        stacks = noted()
        assert held(stacks, number) is Observed.YES
        # WHEN it is woken and sleeps again in the same line
        wake(woken)
        time.sleep(0.05)
        assert held(stacks, number) is Observed.NO


def test_stacks_are_bounded_and_keep_both_ends() -> None:
    def deeper(levels: int) -> Any:
        return deeper(levels - 1) if levels else in_another_thread(taken)

    found = deeper(200)
    frames = found["threads"][0]["frames"]
    assert len(frames) == thread_stacks.INNERMOST + thread_stacks.OUTERMOST
    outermost = [frame for frame, _ in traceback.walk_stack(None)][-1]
    assert frames[-1][2] == outermost.f_code.co_name
    assert found["files"].count(__file__) == 1


def test_as_many_threads_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_stacks, "STILL", 0.0)
    monkeypatch.setattr(thread_stacks, "STACKS_SIZE", 4000)
    monkeypatch.setattr(layout, "STACKS_SIZE", 4000)
    page = PageWriter(str(tmp_path / "7.page"), dict(IDENTITY))
    with waiting("a"), waiting("b"), waiting("c"), waiting("d"), waiting("e"):
        in_another_thread(thread_stacks.OfRank(page).look)
    stacks = thread_stacks_of(page)
    assert 1 <= len(stacks.threads) < 6
    assert stacks.threads[0].os_id == os.getpid()


def thread_stacks_of(page: PageWriter) -> NotedStacks:
    found = decode_page(read_file(Path(page.path))).stacks
    assert found is not None
    return found


def test_nothing_is_taken_while_something_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PageWriter(str(tmp_path / "7.page"), dict(IDENTITY))

    def never(*_: object) -> Any:
        raise AssertionError("taken while the page moved")

    monkeypatch.setattr(thread_stacks, "taken", never)
    heart = thread_stacks.OfRank(page)
    heart.look()
    page.moved()
    heart.look()
    assert decode_page(read_file(Path(page.path))).stacks is None


def _looks_until_nothing_runs(run: str, times: Any) -> None:
    thread_stacks.STILL = 0.0
    page = PageWriter(f"{run}/{os.getpid()}.page", dict(IDENTITY))
    heart = thread_stacks.OfRank(page)

    def look_on() -> None:
        before = 0.0
        for _ in range(100):
            time.sleep(0.1)
            heart.look()
            now = thread_stacks_of(page).time
            times.put(now)
            if now == before:
                return
            before = now

    in_another_thread(look_on)


def test_the_page_is_written_only_if_a_stack_has_changed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    times = context.SimpleQueue()
    # of its own, because pytest-xdist's threads run whenever they like
    child = context.Process(target=_looks_until_nothing_runs, args=(str(tmp_path), times))
    child.start()
    child.join(60)
    found = []
    while not times.empty():
        found.append(times.get())
    read = decode_page(read_file(tmp_path / f"{child.pid}.page"))
    assert read.stacks is not None
    assert found[-2:] == [read.stacks.time] * 2
    # no movement: the watcher goes by these
    assert read.stacks.revision == read.revision


def test_a_fault_of_ours_does_not_stop_the_heart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr(thread_stacks, "STILL", 0.0)
    monkeypatch.setattr(thread_stacks, "taken", fault)
    monkeypatch.setattr(heartbeat, "HEARTBEAT_SECONDS", 0.01)
    page = PageWriter(str(tmp_path / "7.page"), dict(IDENTITY))
    monkeypatch.setattr(state, "page", page)
    heartbeat.start(page)
    before = decode_page(read_file(Path(page.path))).heartbeat
    assert _awaited(lambda: decode_page(read_file(Path(page.path))).heartbeat > before + 0.1)
    monkeypatch.setattr(state, "page", None)


def test_a_torn_note_is_no_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_stacks, "STILL", 0.0)
    page = PageWriter(str(tmp_path / "7.page"), dict(IDENTITY))
    in_another_thread(thread_stacks.OfRank(page).look)
    data = bytearray(read_file(Path(page.path)))
    data[layout.STACKS + 40] ^= 1
    assert decode_page(bytes(data)).stacks is None


def test_a_page_of_version_1_has_no_stacks_and_is_read(tmp_path: Path) -> None:
    page = PageWriter(str(tmp_path / "7.page"), dict(IDENTITY))
    page.text(("/job/train.py", 3, "main"))
    older = bytearray(read_file(Path(page.path))[: layout.STACKS])
    struct.pack_into("=IQ", older, 8, 1, 0)
    layout.HEAD.pack_into(older, 0, layout.MAGIC, 1, layout.STACKS, 0)
    read = decode_page(bytes(older))
    assert (read.rank, read.stacks) == (1, None)


def _sleeps(run: str, ready: Event, done: Event) -> None:
    state.run, state.page = run, None
    thread_stacks.STILL = 0.2
    thread_stacks.start_in_worker()
    ready.set()
    done.wait()
    time.sleep(0.001)
    done.clear()
    ready.set()
    while not done.is_set():
        sum(range(10_000))


def test_a_data_worker_that_stands_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    monkeypatch.setattr(state, "run", str(tmp_path))
    (tmp_path / f"{os.getpid()}.page").touch()  # a rank
    child = context.Process(target=_sleeps, args=(str(tmp_path), ready, done))
    child.start()
    try:
        assert child.pid is not None
        assert ready.wait(20)
        found = _awaited(lambda: noted_stacks.fetch(tmp_path, child.pid or 0))
        assert found is not None
        stacks = noted_stacks.parse(found)
        assert _awaited(
            lambda: noted_stacks.parse(noted_stacks.fetch(tmp_path, child.pid or 0) or b"").seen > stacks.seen
        )
        assert "_sleeps" in [frame.function for frame in stacks.threads[0].frames]
        # WHEN it goes on, THEN what it said is taken back
        ready.clear()
        done.set()
        assert ready.wait(20)
        assert _awaited(lambda: noted_stacks.fetch(tmp_path, child.pid or 0) is None)
    finally:
        child.kill()
        child.join()


def test_a_child_of_a_process_that_is_no_rank_is_left_alone(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/task").iterdir()))
    run, state.run = state.run, str(tmp_path)
    try:
        thread_stacks.start_in_worker()
    finally:
        state.run = run
    assert len(list(Path("/proc/self/task").iterdir())) == before


def _awaited(look: Callable[[], Any], seconds: float = 10.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found
