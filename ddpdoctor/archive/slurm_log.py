"""Pure. What Slurm and the kernel log of processes that ended: srun's tasks, the time limit, the out-of-memory killer.

    srun: error: node07: task 3: Out Of Memory
    srun: error: node06: tasks 0-2: Terminated
    slurmstepd: error: *** STEP 8812.0 ON node06 CANCELLED AT 2024-04-23T12:18:08 DUE TO TIME LIMIT ***
    Memory cgroup out of memory: Killed process 14750 (python) total-vm:...

A task is a rank if srun starts the ranks itself; under torchrun it is a node. A task that Slurm ends after a first
failure has not failed by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.archive.faulthandler_text import SIGNALS
from ddpdoctor.model.ranks import Rank

MARKS = ("srun: ", "slurmstepd", "Killed process", "oom-kill")
_MOST_TASKS = 1 << 17

_TASKS = re.compile(r"srun: error: (\S{1,255}): tasks? ([\d,-]{1,4000}): (.{1,80})$")
_EXIT = re.compile(r"Exited with exit code (\d{1,3})")
_OVER = re.compile(
    r"slurmstepd: error: \*\*\* (?:STEP|JOB) .* CANCELLED AT |srun: (?:Terminating|Force Terminated|Job step aborted)"
)
_LIMIT = re.compile(r"CANCELLED AT .{1,40}DUE TO TIME LIMIT")
_KILLED = re.compile(r"Killed process (\d{1,10}),? ?(?:UID \d+,? ?)?\(([^)]{1,64})\)")
#: srun's words -> exit status; a signal is a negative number
_STATUS = {"Out Of Memory": -9, "Killed": -9, "Terminated": -15, **SIGNALS}


@dataclass(frozen=True, slots=True)
class SlurmTask:
    """A line of srun about one task; `status` is None if Slurm itself ended it."""

    task: Rank
    status: int | None
    #: a remark for the report, "" if the status says it all
    remark: str = ""


@dataclass(frozen=True, slots=True)
class OomKill:
    """The kernel killed this process because it ran out of memory."""

    pid: int
    name: str


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Slurm ended the whole job at its time limit."""


def find(lines: tuple[str, ...]) -> Iterator[SlurmTask | OomKill | TimeLimit]:
    """All that is logged, without repetitions."""
    known: set[object] = set()
    over = False
    for line in lines:
        if not any(mark in line for mark in MARKS):
            continue
        over = over or _OVER.search(line) is not None
        for one in _events(line, over=over):
            if one not in known:
                known.add(one)
                yield one


def _events(line: str, *, over: bool) -> Iterator[SlurmTask | OomKill | TimeLimit]:
    if _LIMIT.search(line):
        yield TimeLimit()
    if killed := _KILLED.search(line):
        yield OomKill(int(killed[1]), killed[2])
    found = _TASKS.search(line)
    if found is None:
        return
    status = _status(found[3])
    ended_by_slurm = status == -15 or (status == -9 and over and "Memory" not in found[3])
    remark = f"out of memory on {found[1]}" if "Memory" in found[3] else ""
    for task in _tasks(found[2]):
        yield SlurmTask(task, None if ended_by_slurm else status, remark)


def _status(words: str) -> int | None:
    if code := _EXIT.search(words):
        return int(code[1])
    return next((status for text, status in _STATUS.items() if words.startswith(text)), None)


def _tasks(text: str) -> Iterator[Rank]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            end = min(int(last or first), int(first) + _MOST_TASKS)
            yield from (Rank(number) for number in range(int(first), end + 1) if number < _MOST_TASKS)
