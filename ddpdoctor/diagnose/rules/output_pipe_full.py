"""# DD239 output-pipe-full

## What
A rank is inside a write to a pipe that is full because its reader does not read.

## Why it hangs
A pipe holds 64 KiB (pipe(7)). If the parent starts the rank with `stdout=PIPE` and reads the pipe only at the end, it
fills up; then `print` blocks for ever, and the other ranks wait for this one. The same happens to a rank that waits for
the exit of its own child before it reads the child's output, or for its answer on one pipe while another one of the
child, most often its standard error, is full.

## Example
    process = subprocess.Popen(["torchrun", "train.py"], stdout=subprocess.PIPE)
    process.wait()                               # instead of communicate()

## Fix
Read the pipe while the job runs (`communicate()`, a thread), or redirect the output to a file.

## When it is wrong
A slow reader, such as a terminal or a pager that was stopped, looks the same while it lasts.

## References
https://github.com/hiyouga/LlamaFactory/issues/10584 https://github.com/pytorch/xla/issues/2308
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders
from ddpdoctor.diagnose.blocked.syscall import BlockedSyscall, blocked_syscall
from ddpdoctor.diagnose.codes import OUTPUT_PIPE_FULL
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.processes import Child, ThreadState
from ddpdoctor.model.ranks import Rank, RankSet

#: kernel functions that a write to a full pipe sleeps in
_IN_WRITE = ("pipe_write", "anon_pipe_write")
_NAMES = {1: "standard output", 2: "standard error"}


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for rank in facts.blockers:
        blocked = blocked_syscall(facts, rank)
        if blocked is not None and _writes(blocked):
            yield _diagnosis(facts, rank, blocked)
        silenced = _silenced(facts, rank, blocked) if blocked is not None else None
        if blocked is not None and silenced is not None:
            yield _of_child(facts, rank, blocked, *silenced)


@dataclass(frozen=True, slots=True)
class _Awaited:
    """What a rank waits for from a child that cannot write."""

    #: "exit", "answer"
    what: str
    #: the pipe that is full, as readers see it
    pipe: str
    fix: str


_EXIT = _Awaited(
    "exit",
    "its pipe is full",
    "Read what the child writes before waiting for its exit: communicate() of a subprocess, get() of a queue before "
    "join() of the process that fills it.",
)
_ANSWER = _Awaited(
    "answer",
    "another pipe of it is full",
    "Read all that the child writes while it runs: its standard error with a thread, or send that to a file, to "
    "subprocess.DEVNULL or with stderr=subprocess.STDOUT to the pipe that is read.",
)


def _silenced(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> tuple[Child, _Awaited] | None:
    """The child for whose exit or answer the rank waits, if one of its threads is inside a write to a pipe."""
    exits = blocked.calls("wait4", "waitid") or blocked.within("/subprocess.py", "/multiprocessing/")
    own = facts.rank(rank).worker.pid
    awaited = {holder.pid for holder in blocked.holders}
    for child in facts.rank(rank).children:
        states = child.process.threads if child.process else ()
        writing = [state for state in states if state.wchan in _IN_WRITE]
        # a pipe that another process should read is not this rank's fault
        if not any(not s.holders or own in {holder.pid for holder in s.holders} for s in writing):
            continue
        if exits and (not awaited or child.worker.pid in awaited):
            return child, _EXIT
        if child.worker.pid in awaited and _reads_elsewhere(blocked, child, writing):
            return child, _ANSWER
    return None


def _reads_elsewhere(blocked: BlockedSyscall, child: Child, writing: list[ThreadState]) -> bool:
    """Whether the rank reads from the child, and nothing that the child is writing."""
    targets = {one.number: one.target for one in child.process.descriptors} if child.process else {}
    full = {targets.get(state.descriptor) for state in writing if state.descriptor is not None}
    return blocked.calls("read", "recvfrom") and blocked.target is not None and blocked.target.target not in full


def _of_child(facts: Facts, rank: Rank, blocked: BlockedSyscall, child: Child, awaited: _Awaited) -> Diagnosis:
    culprit = RankSet.of([rank])
    waiting = facts.waiting - culprit
    article = "the" if awaited is _EXIT else "an"
    return diagnosis(
        OUTPUT_PIPE_FULL,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=(
            f"rank {rank} waits at {wording.place(blocked.site)} for {article} {awaited.what} of a child that cannot "
            f"write: {awaited.pipe}"
        ),
        why=(
            f"Process {child.worker.pid}, a child of rank {rank}, sleeps inside a write to a pipe that is not read. "
            f"Rank {rank} waits for its {awaited.what} before it reads, so neither "
            f"continues.{wording.held_up(facts, waiting)}"
        ),
        fix=awaited.fix,
        locations=(facts.location([rank], blocked.site), *facts.locations_of(waiting)),
        evidence=(
            f"rank {rank} is inside {blocked.call or blocked.inside[-1].function}",
            f"process {child.worker.pid} sleeps in the kernel's pipe_write",
        ),
    )


def _writes(blocked: BlockedSyscall) -> bool:
    """`pipe_write` is `anon_pipe_write` in kernels from 6.15 on."""
    by_call = blocked.calls("write", "writev") and blocked.target is not None and blocked.target.kind == "pipe"
    return by_call or blocked.wchan in _IN_WRITE


def _diagnosis(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> Diagnosis:
    culprit = RankSet.of([rank])
    waiting = facts.waiting - culprit
    number = blocked.target.number if blocked.target else None
    what = _NAMES.get(number or 0, f"descriptor {number}" if number is not None else "a pipe")
    return diagnosis(
        OUTPUT_PIPE_FULL,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=(
            f"rank {rank} cannot write to {what} at {wording.place(blocked.site)}: the pipe is full and is not read"
        ),
        why=(
            f"Rank {rank} sleeps inside the write until the reader empties the "
            f"pipe.{_reader(facts, rank, blocked)}{wording.held_up(facts, waiting)}"
        ),
        fix="Read the pipe while the job runs (communicate(), a separate thread), or redirect the output to a file.",
        locations=(facts.location([rank], blocked.site), *facts.locations_of(waiting)),
        evidence=tuple(_evidence(facts, rank, blocked)),
    )


def _evidence(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> Iterator[str]:
    yield f"rank {rank} sleeps in the kernel's {blocked.wchan or 'write'}"
    if blocked.target is None:
        return
    yield f"{blocked.target.target} is descriptor {blocked.target.number} of rank {rank}"
    if blocked.holders:
        yield f"its read end is open in {holders.listed(facts, blocked.holders)}"
    elif blocked.unseen:
        yield f"its reader is not known: {blocked.unseen}"


def _reader(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> str:
    """The process that should read it, as a sentence; "" if it is not known."""
    if not blocked.holders:
        return ""
    own = facts.rank(rank).worker.pid
    if all(holder.pid == own for holder in blocked.holders):
        return f" Only rank {rank} itself has its read end open, and does not get to reading it."
    others = tuple(holder for holder in blocked.holders if holder.pid != own)
    return f" Its read end is open in {holders.listed(facts, others)}."
