"""Holders of what a real process waits on: locks, pipes, sockets, of processes inside and outside the job."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from ddpdoctor.collect import procfs, sockets
from ddpdoctor.collect.holders import Holders
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Holder, ProcessState, Relation, ThreadState
from tests.unit.collect.conftest import Start, comes, worker

FLOCK = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX)"
POSIX = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.lockf(f, fcntl.LOCK_EX)"
READY = "; print('up', flush=True); sys.stdin.readline()"


def seen(pid: int, *lock_files: str) -> ProcessState:
    data = procfs.fetch(worker(pid), holders=Holders(), lock_files=lock_files)
    assert isinstance(data, bytes), data
    return procfs.parse(data)


def main_thread(pid: int) -> ThreadState:
    return seen(pid).threads[0]


def waits(pid: int, condition: Callable[[ThreadState], bool]) -> ThreadState:
    """The main thread once it is inside of its wait."""
    assert comes(lambda: condition(main_thread(pid))), main_thread(pid)
    return main_thread(pid)


def who(holders: tuple[Holder, ...]) -> list[tuple[int, Relation]]:
    return [(holder.pid, holder.relation) for holder in holders]


@pytest.mark.parametrize(("lock", "call"), [(FLOCK, "flock"), (POSIX, "fcntl")])
def test_a_lock_of_a_file_and_its_owner(start: Start, tmp_path: Path, lock: str, call: str) -> None:
    path = str(tmp_path / "cache.lock")
    owner = start(lock + READY, path)
    waiter = start("print('up', flush=True)\n" + lock, path)
    thread = waits(waiter.pid, lambda t: t.call == call)
    assert who(thread.holders) == [(owner.pid, Relation.OWNER)]
    assert path in thread.holders[0].command
    assert thread.unseen == ""


def test_a_lock_that_outlives_who_took_it(start: Start, tmp_path: Path) -> None:
    # GIVEN a process that takes a lock, forks and ends: its child has the lock now
    path = str(tmp_path / "cache.lock")
    forks = "\npid = os.fork()\nif pid: print(pid, flush=True); os._exit(0)\nimport time; time.sleep(60)"
    parent = start("import os; print('up', flush=True); " + FLOCK + forks, path)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.wait()
    try:
        waiter = start("print('up', flush=True)\n" + FLOCK, path)
        thread = waits(waiter.pid, lambda t: t.call == "flock")
        assert who(thread.holders) == [(child, Relation.OWNER)]
    finally:
        os.kill(child, 9)


def test_a_full_pipe_and_its_reader(start: Start) -> None:
    # GIVEN a process that writes more than a pipe holds, and this one, which does not read
    writer = start("import os; print('up', flush=True); os.write(1, b'x' * (1 << 20))")
    thread = waits(writer.pid, lambda t: t.call == "write")
    assert (thread.descriptor, who(thread.holders)) == (1, [(os.getpid(), Relation.READER)])


def test_an_empty_pipe_and_its_writer(start: Start) -> None:
    reader = start("import sys; print('up', flush=True); sys.stdin.readline()")
    thread = waits(reader.pid, lambda t: t.call == "read")
    assert who(thread.holders) == [(os.getpid(), Relation.WRITER)]


CLIENT = "import socket, sys; s = socket.socket({family}); s.connect({where}); print('up', flush=True); s.recv(1)"


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_socket_and_the_process_at_its_other_end(start: Start, tmp_path: Path, kind: str) -> None:
    family = socket.AF_INET if kind == "tcp" else socket.AF_UNIX
    with socket.socket(family) as listener:
        listener.bind(("127.0.0.1", 0) if kind == "tcp" else str(tmp_path / "s"))
        listener.listen()
        where = listener.getsockname()
        client = start(CLIENT.format(family=int(family), where=repr(where)))
        accepted, _ = listener.accept()
        with accepted:
            thread = waits(client.pid, lambda t: t.call == "recvfrom")
            assert who(thread.holders) == [(os.getpid(), Relation.PEER)]
            target = next(d for d in seen(client.pid).descriptors if d.number == thread.descriptor)
    assert (target.kind, target.target.split()[0]) == ("socket", kind)
    if kind == "tcp":
        assert target.target == f"tcp 127.0.0.1:{where[1]} ESTABLISHED"
        assert target.local.startswith("127.0.0.1:")


def test_a_connection_that_nobody_has_accepted_yet(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = start(CLIENT.format(family=int(socket.AF_INET), where=repr(listener.getsockname())))
        thread = waits(client.pid, lambda t: t.call == "recvfrom")
        assert who(thread.holders) == [(os.getpid(), Relation.PEER)]


def test_a_socket_without_connection(start: Start) -> None:
    process = start(
        "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0)); "
        "print('up', flush=True); s.recv(1)"
    )
    thread = waits(process.pid, lambda t: t.call == "recvfrom")
    assert thread.holders == ()
    target = next(d for d in seen(process.pid).descriptors if d.number == thread.descriptor)
    assert target.target == f"udp {target.local}"


def test_a_lock_file_that_is_polled_for(start: Start, tmp_path: Path) -> None:
    path, missing = tmp_path / "lock", str(tmp_path / "none")
    owner = start("import os, sys; f = os.open(sys.argv[1], os.O_CREAT | os.O_EXCL)" + READY, str(path))
    waiter = start("import sys, time; print('up', flush=True); time.sleep(60)")
    found, absent = seen(waiter.pid, str(path), missing).lock_files
    assert (found.exists, who(found.holders)) == (Observed.YES, [(owner.pid, Relation.OPENER)])
    assert found.modified == path.stat().st_mtime
    assert (absent.exists, absent.modified, absent.holders) == (Observed.NO, None, ())
    locked = start(FLOCK + READY, str(path))
    (owned,) = seen(waiter.pid, str(path)).lock_files
    assert who(owned.holders) == [(locked.pid, Relation.OWNER)]
    locked.kill()
    locked.wait()
    owner.kill()
    owner.wait()
    (left,) = seen(waiter.pid, str(path)).lock_files
    assert (left.exists, left.holders) == (Observed.YES, ())


def test_the_path_that_is_being_opened(start: Start, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = start("import sys; print('up', flush=True); open(sys.argv[1])", str(fifo))
    assert waits(process.pid, lambda t: t.call in ("open", "openat")).path == str(fifo)


MUTEX = """
import ctypes, sys, threading, time
libc = ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)  # PTHREAD_MUTEX_INITIALIZER is all zeros, pthread_mutex_init(3)
def hold():
    libc.pthread_mutex_lock(mutex)
    sys.stderr.write(str(threading.get_native_id()))
    held.set()
    time.sleep(60)
held = threading.Event()
threading.Thread(target=hold, daemon=True).start()
held.wait()
print('up', flush=True)
libc.pthread_mutex_lock(mutex)
"""


def test_a_mutex_and_the_thread_that_has_it(start: Start) -> None:
    process = start(MUTEX)
    thread = waits(process.pid, lambda t: t.call == "futex" and t.holders != ())
    (holder,) = thread.holders
    assert (holder.pid, holder.relation) == (process.pid, Relation.OWNER)
    assert holder.thread in {int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()} - {process.pid}


def test_a_child_whose_end_is_waited_for(start: Start) -> None:
    process = start("import subprocess; print('up', flush=True); subprocess.run(['sleep', '60'])")
    thread = waits(process.pid, lambda t: t.call == "wait4")
    (holder,) = thread.holders
    assert (holder.relation, holder.command) == (Relation.AWAITED, ("sleep", "60"))
    os.kill(holder.pid, 9)


def test_pythons_own_lock_names_nobody(start: Start) -> None:
    process = start(
        "import threading\nlock = threading.Lock()\nlock.acquire()\nprint('up', flush=True)\nlock.acquire()"
    )
    assert waits(process.pid, lambda t: t.call == "futex").holders == ()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_processes_of_other_users_are_not_ours_to_see() -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(writer, Holders().of_file("/x", but=1)[1].encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        said = stream.read()
    os.waitpid(child, 0)
    assert re.fullmatch(r"no permission to read the open files of \d+ processes", said)


def test_what_cannot_be_looked_at_is_said(tmp_path: Path) -> None:
    # GIVEN a process whose open files may not be listed, as those of other users are
    folder = tmp_path / "17"
    folder.mkdir()
    (folder / "fd").write_text("")  # listing it fails
    holders = Holders(tmp_path, longest=-1.0)
    assert holders.of_file("/x", but=1) == ((), "not all processes could be inspected within -1 s")


def test_an_address_of_another_machine() -> None:
    assert sockets.address("0100007F:1F90") == "127.0.0.1:8080"
    assert sockets.address("0000000000000000FFFF00000100007F:0016") == "127.0.0.1:22"
    assert sockets.address("B80D0120000000000000000001000000:0050") == "[2001:0db8:0000:0000:0000:0000:0000:0001]:80"
