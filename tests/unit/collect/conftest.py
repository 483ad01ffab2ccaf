"""Processes to inspect."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from ddpdoctor.model.ranks import Rank, Role, Worker

#: (program, its argument) -> a process whose main thread has said "up"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a Python program; it is ready when it has printed its first line."""
    started: list[subprocess.Popen[str]] = []

    def begin(program: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def worker(pid: int, rank: int = 0) -> Worker:
    """A process of the job, taken for a rank."""
    started = psutil.Process(pid).create_time() if psutil.pid_exists(pid) else 0.0
    return Worker(pid, started, Role.RANK, Rank(rank), rank, 1)


def comes(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Wait for the kernel, or for another process."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
