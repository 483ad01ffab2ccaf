"""Jobs in which rank 1 sleeps in the kernel, for something outside the job or for a lock of its own."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.evidence import Evidence, SourceFile
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Descriptor, Holder, Motion, ProcessState, Relation, ThreadState
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, job

AT = At()
RECV = Site("/usr/lib/python3.11/socket.py", 706, "readinto")
FILE_BATON = Site(f"{TORCH}/utils/file_baton.py", 49, "wait")
SERVER = Descriptor(7, "socket", "tcp 10.0.0.9:443 ESTABLISHED")
PIPE = Descriptor(1, "pipe", "pipe:[77]")
LOCK = Descriptor(8, "file", "/cache/build.lock")
DATA = Descriptor(9, "file", "/data/part-3")


def asleep(
    *inside: Site, call: str = "", on: Descriptor | None = None, wchan: str = "", moves: bool = False
) -> Evidence:
    """Rank 1 is inside `call` at line 9, the others are in the backward that it does not reach."""
    usual = Doing([AT.next(3), AT.forward(4), AT.backward(5)])
    evidence = job([usual, Doing([AT.next(3)], blocked=False, stands=AT.line(9)), usual])
    seen = evidence.ranks[1]
    pid = seen.worker.pid
    thread = ThreadState(pid, "python", "S", wchan, 1.0, call, on.number if on else None)
    process = ProcessState(NOW, "S", 1.0, 0, (thread,), (SERVER, PIPE, LOCK, DATA))
    stacks = Stacks(StackSource.PYSPY, (Thread(pid, "MainThread", (*inside, AT.line(9))),))
    motion = Motion(1.0, 0.9 if moves else 0.0, 0, Observed.of(moves), Observed.NO)
    changed = replace(seen, stacks=stacks, process=process, motion=motion)
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


def held(evidence: Evidence, *holders: Holder, unseen: str = "") -> Evidence:
    """The same, with what was found about who holds what rank 1 waits on."""
    seen = evidence.ranks[1]
    assert seen.process is not None
    threads = tuple(replace(thread, holders=holders, unseen=unseen) for thread in seen.process.threads)
    changed = replace(seen, process=replace(seen.process, threads=threads))
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


def in_code(text: str, evidence: Evidence) -> Evidence:
    return replace(evidence, code={AT.file: SourceFile(AT.file, text)})


THREADS = """def count(self):






    pass

    with self.lock:     # line 10
        self.n += 1

def write(self):
    with self.lock:
        sleep(9)        # line 15
"""


def threads(*, python: bool = True) -> Evidence:
    """Rank 1's main thread wants a lock that thread 'tally' is inside of; of Python, or a mutex of the C library."""
    evidence = asleep(call="futex", wchan="futex_do_wait")
    seen = evidence.ranks[1]
    pid = seen.worker.pid
    main = Thread(pid, "MainThread", (AT.line(10 if python else 7),))
    other = Thread(pid + 1, "tally", (AT.line(15, "write"),))
    changed = replace(seen, stacks=Stacks(StackSource.PYSPY, (main, other)))
    evidence = in_code(THREADS, replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2])))
    return evidence if python else held(evidence, Holder(pid, Relation.OWNER, "python", (), pid + 1))
