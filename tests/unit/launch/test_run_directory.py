"""The run directory: private, with a short path, removed at the end together with stale ones of earlier runs."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ddpdoctor.launch.run_directory import LOCK, PREFIX, run_directory


@pytest.fixture
def short() -> Path:
    """A folder with a short name: pytest's own are too deep for a unix socket."""
    return Path(tempfile.mkdtemp(dir="/tmp"))


def test_it_is_private_and_goes_with_its_contents(short: Path) -> None:
    with run_directory({"XDG_RUNTIME_DIR": str(short)}) as folder:
        assert folder is not None
        assert folder.parent == short
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "1.page").write_bytes(b"x")
        assert len(str(folder / "4194304.page")) < 107
    assert list(short.iterdir()) == []


def test_a_long_or_missing_runtime_folder_is_passed_over(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 80)
    deep.mkdir()
    for unusable in (str(deep), "/proc", "/no/such/folder", ""):
        with run_directory({"XDG_RUNTIME_DIR": unusable}) as folder:
            assert folder is not None
            assert str(folder.parent) != unusable


def test_a_folder_that_is_nearly_full_comes_last(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.statvfs(short)
    small = os.statvfs_result((*whole[:3], 100, 100, *whole[5:]))
    monkeypatch.setattr(os, "statvfs", lambda path: small if path == str(short) else whole)
    with run_directory({"XDG_RUNTIME_DIR": str(short)}) as folder:
        assert folder is not None
        assert folder.parent != short
    monkeypatch.setattr(os, "statvfs", lambda path: small)
    with run_directory({"XDG_RUNTIME_DIR": str(short)}) as folder:
        assert folder is not None
        assert folder.parent == short


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_folders_of_dead_watches_are_removed(short: Path) -> None:
    left = short / f"{PREFIX}{dead_pid()}-abc"
    left.mkdir()
    (left / LOCK).touch()
    with run_directory({"XDG_RUNTIME_DIR": str(short)}):
        assert not left.exists()


def test_a_folder_whose_lock_is_held_stays_whatever_its_pid(short: Path) -> None:
    """A container that shares the folder counts its pids anew."""
    foreign = short / f"{PREFIX}{dead_pid()}-abc"
    foreign.mkdir()
    with (foreign / LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with run_directory({"XDG_RUNTIME_DIR": str(short)}):
            assert foreign.exists()


def test_what_only_looks_alike_stays(short: Path) -> None:
    others = [short / f"{PREFIX}repro-x", short / f"{PREFIX}1-x", short / "else"]
    for other in others:
        other.mkdir()
    with run_directory({"XDG_RUNTIME_DIR": str(short)}):
        assert all(other.exists() for other in others)
