"""The job's real store, through a real helper, and a folder: the same messages on both, and what is said of neither."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from ddpdoctor.meeting import store as store_board
from ddpdoctor.meeting.board import Answer, Board, Claimed, Found, Lost
from ddpdoctor.meeting.folder import EARLIER, FolderBoard
from ddpdoctor.meeting.store import Address, StoreBoard

if TYPE_CHECKING:
    import torch.distributed as dist

#: seconds in which a helper imports torch, on any machine, and in which a store answers on a busy one
STARTUP, BUSY = 300.0, 60.0
Make = Callable[[], Board]


def answers(board: Board, number: int = 1, seconds: float = STARTUP) -> list[Answer]:
    found: list[Answer] = []
    deadline = time.monotonic() + seconds
    while len(found) < number and time.monotonic() < deadline:
        found.extend(board.poll(time.monotonic()))
        time.sleep(0.01)
    return found


def ends(pid: int) -> bool:
    """Whether the process goes, in as long as a busy machine may take to give back its memory."""
    deadline = time.monotonic() + 60.0
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not psutil.pid_exists(pid)


@pytest.fixture(autouse=True)
def helpers_have_time_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a watcher waits for a helper is no promise: importing torch has taken longer beside twenty processes."""
    monkeypatch.setattr(store_board, "STARTING", STARTUP)


@pytest.fixture
def store() -> dist.TCPStore:
    import torch.distributed as dist

    return dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=30), wait_for_workers=False)


@pytest.fixture(params=["store", "folder"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[Board] = []
    # a folder needs no store
    store: dist.TCPStore | None = request.getfixturevalue("store") if request.param == "store" else None

    def another() -> Board:
        if store is None:
            made.append(FolderBoard(tmp_path))
        else:
            made.append(StoreBoard(Address("127.0.0.1", store.port, sys.executable), os.environ, patience=BUSY))
        return made[-1]

    yield another
    for board in made:
        board.close()


def test_what_one_leaves_the_other_finds(make: Make) -> None:
    one, other = make(), make()
    one.put("room/1/d/0", b"\0\xff" * 100_000)
    one.append("room/watchers", b"one\n")
    one.claim("room/1/open", b"one")
    assert answers(one) == [Claimed(b"one")]
    other.append("room/watchers", b"two\n")
    other.claim("room/1/open", b"other")
    other.gather(["room/1/d/0", "room/watchers", "room/nothing"], 0.2)
    claimed, found = answers(other, 2)
    assert claimed == Claimed(b"one")
    assert isinstance(found, Found)
    assert found.values["room/1/d/0"] == b"\0\xff" * 100_000
    assert sorted(found.values["room/watchers"].split()) == [b"one", b"two"]
    assert "room/nothing" not in found.values


def test_who_waits_hears_at_once(make: Make) -> None:
    one, other = make(), make()
    for board in (one, other):
        board.gather(["room/nothing"], 0.0)
        assert answers(board) == [Found({})]
    one.gather(["room/a", "room/b"], 60.0)
    other.put("room/a", b"1")
    other.put("room/b", b"2")
    began = time.monotonic()
    assert answers(one) == [Found({"room/a": b"1", "room/b": b"2"})]
    assert time.monotonic() - began < 30.0  # not when the minute is over


def test_what_was_left_last_arrives_although_its_writer_ends(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_board, "FAREWELL", 60.0)
    one, other = make(), make()
    for board in (one, other):
        board.gather(["nothing"], 0.0)
        assert answers(board) == [Found({})]
    verdict = os.urandom(1 << 20)
    one.put("verdict", verdict)
    one.close()
    other.gather(["verdict"], 60.0)
    (found,) = answers(other)
    assert isinstance(found, Found)
    assert found.values.get("verdict", b"nothing")[:100] == verdict[:100]
    assert zlib.crc32(found.values["verdict"]) == zlib.crc32(verdict)


def test_a_store_that_does_not_answer_is_lost_in_time_and_its_helper_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_board, "STARTING", 10.0)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        board = StoreBoard(Address("127.0.0.1", mute.getsockname()[1], sys.executable), os.environ, patience=1.0)
        (lost,) = answers(board)
        assert isinstance(lost, Lost)
        assert ends(board.pid)
        assert board.poll(time.monotonic()) == ()


def test_a_helper_that_hangs_is_given_up(store: dist.TCPStore) -> None:
    board = StoreBoard(Address("127.0.0.1", store.port, sys.executable), os.environ, patience=5.0)
    board.gather(["nothing"], 0.0)
    assert answers(board) == [Found({})]
    os.kill(board.pid, signal.SIGSTOP)
    board.gather(["nothing"], 0.0)
    (lost,) = answers(board, seconds=60.0)
    assert isinstance(lost, Lost)
    assert ends(board.pid)


def test_an_interpreter_without_torch_is_said(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    board = StoreBoard(Address("127.0.0.1", 1, sys.executable), {**os.environ, "PYTHONPATH": str(tmp_path)})
    (lost,) = answers(board)
    assert isinstance(lost, Lost)
    assert "torch" in lost.reason


def test_what_an_earlier_job_left_in_the_folder_counts_for_nothing(tmp_path: Path) -> None:
    before = FolderBoard(tmp_path)
    before.put("room/1/v", b"old")
    before.append("room/watchers", b"old\n")
    before.claim("room/1/open", b"old")
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 2 * EARLIER,) * 2)
    board = FolderBoard(tmp_path)
    board.claim("room/1/open", b"new")
    board.gather(["room/1/v", "room/watchers"], 0.0)
    assert answers(board, 2) == [Claimed(b"new"), Found({})]


def test_a_folder_that_is_gone_is_lost(tmp_path: Path) -> None:
    board = FolderBoard(tmp_path / "shared")
    (tmp_path / "shared").rmdir()
    board.put("room/1/v", b"x")
    (lost,) = answers(board)
    assert isinstance(lost, Lost)
