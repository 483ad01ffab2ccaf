"""Ranks that wait for an answer from the network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.processes import Child, Descriptor, Holder, ProcessState, Relation, ThreadState
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Thread
from tests.unit.diagnose.builders import NOW
from tests.unit.diagnose.sleeping import DATA, SERVER, asleep, held

MANAGER = Site("/usr/lib/python3.11/multiprocessing/connection.py", 395, "Connection._recv")
READ = Site("/usr/lib/python3.11/socket.py", 706, "readinto")
SERVES = Site("/usr/lib/python3.11/socketserver.py", 232, "serve_forever")
GET = Site("/usr/lib/python3.11/queue.py", 171, "get")


def test_a_server_of_this_machine_is_named() -> None:
    server = Holder(99, Relation.PEER, "python", ("python", "serve.py"))
    found = examine(held(asleep(call="recvfrom", on=SERVER), server)).diagnoses[0]
    assert found.code == "DD233"
    assert "The server is process 99 (python serve.py), outside the job" in found.why


@pytest.mark.parametrize("by_process", [True, False])
def test_a_connection_between_ranks_is_no_network_client(by_process: bool) -> None:
    ours = replace(SERVER, target="tcp 10.0.0.1:5000 ESTABLISHED", local="10.0.0.2:41000")
    theirs = Descriptor(4, "socket", "tcp 10.0.0.2:41000 ESTABLISHED", "10.0.0.1:5000")
    evidence = asleep(call="recvfrom", on=ours)
    seen, other = evidence.ranks[1], evidence.ranks[0]
    assert seen.process is not None
    changed = replace(seen, process=replace(seen.process, descriptors=(ours,)))
    opened = other if by_process else replace(other, process=ProcessState(NOW, "S", 1.0, 0, (), (theirs,)))
    evidence = replace(evidence, ranks=(opened, changed, evidence.ranks[2]))
    if by_process:
        evidence = held(evidence, Holder(other.worker.pid, Relation.PEER, "python"))
    found = examine(evidence).diagnoses
    assert "DD233" not in {one.code for one in found}
    assert "waits for rank 0 over one of the program's own connections" in found[0].why


@pytest.mark.parametrize(
    ("doing", "code"),
    [
        pytest.param((READ, Site("/job/board.py", 20, "serve")), "DD233", id="its server waits for the next message"),
        pytest.param((READ, SERVES), "DD233", id="all of it is the standard library's"),
        pytest.param((GET, Site("/job/board.py", 30, "write_log")), "DD299", id="its other thread has nothing to do"),
    ],
)
def test_a_server_in_a_thread_of_another_rank(doing: tuple[Site, ...], code: str) -> None:
    evidence = asleep(READ, call="recvfrom", on=SERVER)
    first = evidence.ranks[0]
    assert first.stacks is not None
    serving = Thread(first.worker.pid + 1, "Thread-1", doing)
    holder = Holder(first.worker.pid, Relation.PEER, "python")
    changed = replace(first, stacks=replace(first.stacks, threads=(*first.stacks.threads, serving)))
    found = examine(held(replace(evidence, ranks=(changed, *evidence.ranks[1:])), holder)).diagnoses[0]
    assert (found.code, found.culprits.members) == (code, (1,))
    assert ("Its other end is in rank 0" in found.why) == (code == "DD233")


@pytest.mark.parametrize(("call", "code"), [("recvfrom", "DD233"), ("read", "DD299")])
def test_threads_that_the_main_thread_waits_for(call: str, code: str) -> None:
    """One that reads a file beside them may be what is waited for."""
    evidence = asleep(GET, wchan="futex_do_wait")
    seen = evidence.ranks[1]
    assert seen.process is not None
    assert seen.stacks is not None
    pid = seen.worker.pid
    waiting = tuple(Thread(pid + n, f"Thread-{n}", (READ, Site("/job/stones.py", 32, "fetch"))) for n in (1, 2))
    calls = (
        (pid + 1, "recvfrom", SERVER.number),
        (pid + 2, call, SERVER.number if call == "recvfrom" else DATA.number),
    )
    states = tuple(ThreadState(number, "python", "S", "", 1.0, one, on) for number, one, on in calls)
    if call == "read":
        waiting = (waiting[0], Thread(pid + 2, "Thread-2", (Site("/job/stones.py", 40, "load"),)))
    changed = replace(
        seen,
        stacks=replace(seen.stacks, threads=(*seen.stacks.threads, *waiting)),
        process=replace(seen.process, threads=(*seen.process.threads, *states)),
    )
    found = examine(replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))).diagnoses[0]
    assert (found.code, found.culprits.members) == (code, (1,))
    assert ("its main thread waits for its own threads (Thread-1, Thread-2)" in found.why) == (code == "DD233")


@pytest.mark.parametrize(("inside", "code"), [((), "DD233"), ((MANAGER,), "DD299")])
def test_a_server_that_is_a_child_of_another_rank(inside: tuple[Site, ...], code: str) -> None:
    """A service that one rank starts for all; what multiprocessing shares may wait for that rank itself."""
    ours = replace(SERVER, target="tcp 127.0.0.1:5000 ESTABLISHED", local="127.0.0.1:41000")
    evidence = held(asleep(*inside, call="recvfrom", on=ours), Holder(71, Relation.PEER, "python"))
    child = Child(Worker(71, 1.0, Role.CHILD, parent=evidence.ranks[0].worker.pid), None, None, None)
    ranks = (replace(evidence.ranks[0], children=(child,)), *evidence.ranks[1:])
    found = examine(replace(evidence, ranks=ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == (code, (1,))
