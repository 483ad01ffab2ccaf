"""py-spy on real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ddpdoctor.collect import procfs, pyspy
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Role
from ddpdoctor.model.stacks import StackSource
from tests.unit.collect.conftest import Start, comes, worker

PROGRAM = """
import threading, time
def feed():
    time.sleep(600)
def train():
    print('up', flush=True)
    time.sleep(600)
threading.Thread(target=feed, name='feeder', daemon=True).start()
train()
"""


def test_every_thread_with_its_python_frames(start: Start) -> None:
    process = start(PROGRAM)
    data = pyspy.fetch(worker(process.pid))
    assert isinstance(data, bytes), data
    found = pyspy.parse(data)
    assert found.source is StackSource.PYSPY_NONBLOCKING
    main = next(thread for thread in found.threads if thread.name == "MainThread")
    assert (main.frames[0].function, main.frames[0].line) == ("train", 7)
    feeder = next(thread for thread in found.threads if "feed" in {frame.function for frame in thread.frames})
    assert feeder.frames[0].line == 4


def test_a_stopped_process_is_read_as_well(start: Start) -> None:
    process = start(PROGRAM)
    os.kill(process.pid, signal.SIGSTOP)
    assert comes(lambda: procfs.state(process.pid) == "T")
    data = pyspy.fetch(worker(process.pid))
    assert isinstance(data, bytes), data
    assert any(frame.function == "train" for thread in pyspy.parse(data).threads for frame in thread.frames)
    assert procfs.state(process.pid) == "T", "reading it must not continue it"


def test_a_process_that_is_gone(start: Start) -> None:
    process = start(PROGRAM)
    process.kill()
    process.wait()
    gap = pyspy.fetch(worker(process.pid, 2))
    assert isinstance(gap, Gap)
    assert (gap.source, gap.rank) == (Source.STACKS, 2)
    assert gap.reason.startswith("py-spy failed")


def test_a_child_that_is_another_program() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert comes(lambda: procfs.state(process.pid) == "S")
        rank = worker(process.pid)
        gap = pyspy.fetch(rank)
        assert isinstance(gap, Gap)
        assert gap.reason == "py-spy failed: Error: Failed to find python version from target process"
        assert pyspy.fetch(replace(rank, role=Role.CHILD)) is None
    finally:
        process.kill()
        process.wait()


def test_a_process_that_is_not_python() -> None:
    gap = pyspy.fetch(worker(1))
    assert isinstance(gap, Gap)


def test_what_takes_too_long_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "py-spy"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(pyspy, "find", lambda: str(slow))
    gap = pyspy.fetch(worker(os.getpid()), deadline=0.2)
    assert isinstance(gap, Gap)
    assert gap.reason == "py-spy gave no answer within 0.2 s"


@pytest.mark.parametrize("data", [b"", b"{}", b'[{"frames": 3}]', b"[{}]", b"\xff"])
def test_what_is_no_dump(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        pyspy.parse(data)


def test_names_are_shown_without_terminal_escapes() -> None:
    data = b'[{"thread_name": "a\\u001b[31mb", "frames": [{"filename": "x\\u0007.py", "line": 3, "name": "f"}]}]'
    (thread,) = pyspy.parse(data).threads
    assert (thread.name, thread.frames[0].file) == ("ab", "x.py")


@pytest.mark.parametrize("line", ["1e999", "[1]", '"three"'])
def test_a_line_that_is_no_whole_number_is_a_value_error(line: str) -> None:
    dump = f'[{{"thread_name": "MainThread", "frames": [{{"filename": "/t.py", "line": {line}, "name": "main"}}]}}]'
    with pytest.raises(ValueError, match=r"infinity|list|three"):
        pyspy.parse(dump.encode())


@pytest.mark.parametrize(("os_id", "name"), [(71, "MainThread"), (72, "")])
def test_the_main_thread_of_a_program_that_does_not_import_threading(os_id: int, name: str) -> None:
    """py-spy 0.4 asks `threading` for names; the main thread has the number of the process."""
    item: dict[str, object] = {
        "pid": 71,
        "thread_id": 1,
        "thread_name": None,
        "os_thread_id": os_id,
        "active": False,
        "frames": [],
    }
    assert pyspy.parse(json.dumps([item]).encode()).threads[0].name == name
