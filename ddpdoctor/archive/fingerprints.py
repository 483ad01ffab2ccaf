"""Pure. Mismatched collectives as TORCH_DISTRIBUTED_DEBUG=DETAIL reports them: a rank's own and a peer's.

    Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(
      SequenceNumber=31, OpType=ALLREDUCE, TensorShape=[20, 10], ...), but Rank 0 is running collective:
      CollectiveFingerPrint(SequenceNumber=31, OpType=BROADCAST, ...)

Every rank of the group raises this, so the reporter is not known to be right or wrong. `Rank` is the rank in the group.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.archive.fragment import CollectiveTimeout
from ddpdoctor.archive.watchdog_log import canonical_op

MARK = "Detected mismatch between collectives on ranks"
#: lines over which one message may extend
_LINES = 6

_RUNNING = re.compile(
    r"Rank (\d{1,7}) is running (?:inconsistent )?collective:\s*CollectiveFingerPrint\("
    r"(?:SequenceNumber=(\d{1,18}),? ?)?OpType=(\w{1,64})(?:, TensorShape=\[([\d, ]{0,400})\])?"
)


@dataclass(frozen=True, slots=True)
class CollectiveMismatch:
    """One such message: the collective of the rank that raised it, and that of the peer it was compared with."""

    mine: CollectiveTimeout
    #: None if the message names no peer, or if the sequence numbers differ, so that the two are of different calls
    theirs: CollectiveTimeout | None


def find(lines: tuple[str, ...]) -> Iterator[CollectiveMismatch]:
    """All such messages in order, without repetitions."""
    known: set[CollectiveMismatch] = set()
    for number, line in enumerate(lines):
        if MARK not in line:
            continue
        running = [_timeout(found) for found in _RUNNING.finditer(" ".join(lines[number : number + _LINES]))][:2]
        if not running:
            continue
        mine, theirs = running[0], running[-1]
        report = CollectiveMismatch(mine, theirs if len(running) > 1 and theirs.seq == mine.seq else None)
        if report not in known:
            known.add(report)
            yield report


def _timeout(found: re.Match[str]) -> CollectiveTimeout:
    sizes = [int(part) for part in found[4].split(",") if part.strip()] if found[4] is not None else None
    return CollectiveTimeout(
        canonical_op(found[3]),
        None if found[2] is None else int(found[2]),
        numel_in=None if sizes is None else min(math.prod(sizes), 1 << 62),
        rank_in_group=int(found[1]),
    )
