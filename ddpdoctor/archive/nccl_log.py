"""Pure. NCCL's own log lines (NCCL_DEBUG=WARN and INFO): the rank of a process in a communicator, and warnings.

node1:921:1146 [2] NCCL INFO ncclCommInitRank comm 0x5555 rank 10 nranks 16 cudaDev 2 ... - Init START
node1:921:1146 [2] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.model.ranks import Rank
from ddpdoctor.probe.redact import redacted

MARK = "NCCL "
_MOST_WARNINGS = 64

_LINE = re.compile(r"(\S{1,255}):(\d{1,10}):(\d{1,10}) \[(\d{1,4})\] (?:(\S+:\d+) )?NCCL (INFO|WARN) (.*)$")
_COMM = re.compile(r"comm 0x[0-9a-f]+ rank (\d{1,7}) n[Rr]anks (\d{1,7})")


@dataclass(frozen=True, slots=True)
class Communicator:
    """A process and its rank in a communicator of `size` ranks; in the largest communicator that is its global rank."""

    host: str
    pid: int
    rank: Rank
    size: int


@dataclass(frozen=True, slots=True)
class NcclWarning:
    """A warning that NCCL logged."""

    host: str
    pid: int
    text: str


def find(lines: tuple[str, ...]) -> Iterator[Communicator | NcclWarning]:
    """Communicators and warnings, without repetitions."""
    known: set[Communicator | NcclWarning] = set()
    warnings = 0
    for line in lines:
        found = _LINE.search(line) if MARK in line else None
        if found is None:
            continue
        one: Communicator | NcclWarning | None = None
        if found[6] == "WARN":
            one = NcclWarning(found[1], int(found[2]), redacted(found[7])[:200])
            warnings += 1
        elif comm := _COMM.search(found[7]):
            one = Communicator(found[1], int(found[2]), Rank(int(comm[1])), int(comm[2]))
        if one is not None and one not in known and (warnings <= _MOST_WARNINGS or isinstance(one, Communicator)):
            known.add(one)
            yield one
