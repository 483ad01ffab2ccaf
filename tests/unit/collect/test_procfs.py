"""Real processes in known states."""

from __future__ import annotations

import os
import platform
import signal
import socket

import pytest

from ddpdoctor.collect import procfs
from ddpdoctor.collect.holders import Holders
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.processes import ProcessState, ThreadState
from tests.unit.collect.conftest import Start, comes, worker

WAITING = "import sys; print('up', flush=True); sys.stdin.readline()"


def seen(pid: int) -> ProcessState:
    data = procfs.fetch(worker(pid))
    assert isinstance(data, bytes), data
    return procfs.parse(data)


def test_a_process_that_waits_for_a_pipe(start: Start) -> None:
    process = start(WAITING)
    assert comes(lambda: seen(process.pid).state == "S")
    found = seen(process.pid)
    assert found.threads[0].os_id == process.pid
    assert found.threads[0].state == "S"
    if platform.machine() in ("x86_64", "aarch64"):
        assert (found.threads[0].call, found.threads[0].descriptor) == ("read", 0)
    stdin = next(descriptor for descriptor in found.descriptors if descriptor.number == 0)
    assert (stdin.kind, stdin.target.startswith("pipe:[")) == ("pipe", True)
    assert found.io_bytes is None or found.io_bytes > 0


THREAD = """
import sys, threading
threading.Thread(target=sys.stdin.readline).start()
print('up', flush=True)
threading.Event().wait()
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="system calls are read on these only")
def test_a_thread_that_waits_for_a_pipe_and_who_holds_it(start: Start) -> None:
    """The thread that trains need not be the main one."""
    process = start(THREAD)

    def reading() -> list[ThreadState]:
        data = procfs.fetch(worker(process.pid), holders=Holders())
        assert isinstance(data, bytes), data
        threads = procfs.parse(data).threads
        return [thread for thread in threads if thread.call == "read" and thread.os_id != process.pid]

    assert comes(lambda: bool(reading()))
    assert os.getpid() in [holder.pid for holder in reading()[0].holders]


def test_processor_time_grows_only_where_work_is_done(start: Start) -> None:
    busy = start("print('up', flush=True)\nwhile True: pass")
    before = seen(busy.pid).cpu_seconds
    assert comes(lambda: seen(busy.pid).cpu_seconds > before)


def test_a_stopped_process_and_its_letter(start: Start) -> None:
    process = start(WAITING)
    os.kill(process.pid, signal.SIGSTOP)
    assert comes(lambda: procfs.state(process.pid) == "T")
    assert seen(process.pid).state == "T"


def test_a_name_with_spaces_and_parentheses(start: Start) -> None:
    process = start(
        "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'a) R (b', 0, 0, 0); "  # PR_SET_NAME, prctl(2)
        "print('up', flush=True); sys.stdin.readline()"
    )
    assert comes(lambda: seen(process.pid).state == "S")
    assert seen(process.pid).threads[0].name == "a) R (b"


@pytest.mark.parametrize(("family", "host", "shown"), [(2, "127.0.0.1", "127.0.0.1"), (10, "::1", "[")])
def test_a_socket_is_shown_with_its_peer(start: Start, family: int, host: str, shown: str) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            pytest.skip(f"no {host} on this machine")
        listener.listen()
        port = listener.getsockname()[1]
        program = (
            f"import socket, sys; s = socket.create_connection(({host!r}, {port})); "
            "print('up', flush=True); sys.stdin.readline()"
        )
        process = start(program)
        (found,) = (d for d in seen(process.pid).descriptors if d.kind == "socket")
    assert found.target.startswith(f"tcp {shown}")
    assert found.target.endswith(f":{port} ESTABLISHED")


def test_a_process_that_is_gone(start: Start) -> None:
    process = start(WAITING)
    process.kill()
    process.wait()
    gap = procfs.fetch(worker(process.pid, 3))
    assert isinstance(gap, Gap)
    assert (gap.source, gap.rank) == (Source.PROCESSES, 3)
    assert procfs.state(process.pid) == ""


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"time": "x"}', b"\xff"])
def test_what_is_no_sample(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        procfs.parse(data)
