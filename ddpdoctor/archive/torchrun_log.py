"""Pure. What torchrun logs of failed workers: the failure summary, and the lines before it.

    Root Cause (first observed failure):
    [0]:
      time      : 2025-05-21_15:43:03
      host      : node1
      rank      : 1 (local_rank: 1)
      exitcode  : -9 (pid: 14750)
      traceback : Signal 9 (SIGKILL) received by PID 14750

"Root Cause" is the failure that torchrun observed first, which is often a victim: it is treated like the others.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.archive import tracebacks
from ddpdoctor.archive.fragment import WorkerExit
from ddpdoctor.model.ranks import Rank

_BEGIN = re.compile(r"^\s*(?:\[\d+\]:|(?:\[\d+\]: ?)?\s*time\s*: )")
_TIME = re.compile(r"^\s*time\s*: (\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)")
_HOST = re.compile(r"^\s*host\s*: (\S{1,255})")
_RANK = re.compile(r"^\s*rank\s*: (\d{1,7}) \(local_rank: (\d{1,5})\)")
_CODE = re.compile(r"^\s*exitcode\s*: (-?\d{1,3}) \(pid: (\d{1,10})\)")
_TRACEBACK = re.compile(r"^\s*traceback\s*: (.*)$")
#: `failed (exitcode: 1) local_rank: 0 (pid: 1322) of binary: /usr/bin/python`
_FAILED = re.compile(r"failed \(exitcode: (-?\d{1,3})\) local_rank: (\d{1,5}) \(pid: (\d{1,10})\)")
_END = re.compile(r"^\s*(?:={8,}|-{8,}|Root Cause|\[\d+\]:)")


@dataclass(frozen=True, slots=True)
class FailedWorker:
    """A worker's exit; the rank is None if only the local rank is stated."""

    rank: Rank | None
    pid: int
    ended: WorkerExit


def find(lines: tuple[str, ...]) -> Iterator[FailedWorker]:
    """Every worker that the launcher reports as failed; a worker reported twice is returned twice."""
    block: list[str] = []
    inside = False
    for line in lines:
        if failed := _FAILED.search(line):
            yield FailedWorker(None, int(failed[3]), WorkerExit(int(failed[1]), int(failed[2])))
        if _END.match(line):
            yield from _worker(block)
            block, inside = [], _BEGIN.match(line) is not None
        elif _TIME.match(line) and not inside:
            block, inside = [line], True
        elif inside:
            block.append(line)
    yield from _worker(block)


def _worker(block: list[str]) -> Iterator[FailedWorker]:
    rank = next((found for line in block if (found := _RANK.match(line))), None)
    code = next((found for line in block if (found := _CODE.match(line))), None)
    if rank is None or code is None:
        return
    when = next((found[1] for line in block if (found := _TIME.match(line))), "")
    host = next((found[1] for line in block if (found := _HOST.match(line))), "")
    ended = WorkerExit(int(code[1]), int(rank[2]), host, _seconds(when), _raised(block))
    yield FailedWorker(Rank(int(rank[1])), int(code[2]), ended)


def _raised(block: list[str]) -> tracebacks.Raised | None:
    """The worker's own traceback, which is present if the script uses `@record`."""
    at = next((number for number, line in enumerate(block) if _TRACEBACK.match(line)), None)
    if at is None:
        return None
    first = _TRACEBACK.match(block[at])
    lines = (first[1] if first else "", *(line.removeprefix("  ") for line in block[at + 1 :]))
    return next(iter(tracebacks.find(lines)), None)


def _seconds(text: str) -> float | None:
    """Local time of another machine, read as UTC: only differences are used."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", text))
    try:
        return float(calendar.timegm(numbers)) if len(numbers) == 6 else None
    except (ValueError, OverflowError):
        return None
