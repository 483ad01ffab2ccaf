"""Jobs in which rank 1 sleeps in the kernel, for something outside the job."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Descriptor, Motion, ProcessState, ThreadState
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
