"""Threads that sleep until a lock file is removed, observed from another thread of the process."""

from __future__ import annotations

import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ddpdoctor.collect.page import PENDING_BYTES, decode_lock_files, decode_page
from ddpdoctor.probe import exit_hooks, lock_files
from ddpdoctor.probe.writer import PageWriter


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """No test leaves a thread behind that sleeps for a lock file."""
    yield
    deadline = time.monotonic() + 300
    while lock_files.polled_lock_files() and time.monotonic() < deadline:
        time.sleep(0.02)
    exit_hooks.forget()


def sleeps(wait: Callable[[], object]) -> tuple[str, ...]:
    """What is found while a thread is in `wait`."""
    threading.Thread(target=wait, daemon=True).start()
    deadline = time.monotonic() + 300
    while not (found := lock_files.polled_lock_files()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def test_torchs_baton(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    baton = pytest.importorskip("torch.utils.file_baton").FileBaton(str(lock), wait_seconds=0.05)
    try:
        assert sleeps(baton.wait) == (str(lock),)
    finally:
        lock.unlink()


@pytest.mark.parametrize("name", ["FileLock", "SoftFileLock"])
def test_filelock(tmp_path: Path, name: str) -> None:
    kind = getattr(pytest.importorskip("filelock"), name)
    path = tmp_path / "cache.lock"
    with kind(path):
        assert sleeps(lambda: kind(path).acquire(poll_interval=0.05)) == (str(path),)


def test_nobody_sleeps() -> None:
    assert lock_files.polled_lock_files() == ()


class Sly:
    """An object that runs code when it is asked for anything."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)


def test_no_code_of_the_job_runs() -> None:
    def wait(self: object) -> tuple[str, ...]:
        return lock_files.polled_lock_files()

    code = wait.__code__.replace(co_filename="/x/torch/utils/file_baton.py")
    namesake = types.FunctionType(code, globals(), "wait")
    assert namesake(Sly()) == ()
    assert namesake(object()) == ()


def test_what_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "7.page"
    page = PageWriter(str(path), {"pid": 7, "started_ticks": 9, "rank": 1, "world_size": 4})
    exit_hooks.update_pending(page, [ValueError("x")], still=True, lock_files=("/cache/lock",))
    data = path.read_bytes()
    assert decode_lock_files(data[:PENDING_BYTES]) == ("/cache/lock",)
    assert [raised.type for raised in decode_page(data).pending] == ["ValueError"]
    exit_hooks.update_pending(page, [], still=True)
    assert decode_lock_files(path.read_bytes()) == ()


@pytest.mark.parametrize("data", [b"", b"x" * PENDING_BYTES])
def test_what_is_no_page(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode_lock_files(data)
