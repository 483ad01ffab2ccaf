"""Pure. Log lines of ranks that wait for others: store barriers, TCPStore clients, monitored_barrier, NCCL's unique id.

    Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1
      (world_size=4, worker_count=3, timeout=0:30:00)

The rank in such a line is the reporter, never a missing rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.archive.fragment import MissingPeers
from ddpdoctor.model.ranks import Rank

#: texts of which every relevant line contains one
MARKS = (
    "store based barrier",
    "store-based barrier",
    "clients joined",
    "workers joined",
    "monitoredBarrier",
    "ncclUniqueId",
)

_BARRIER = re.compile(
    r"(?:Waiting in|Timed out initializing process group in) store based barrier.{0,80}?rank: ?(\d{1,7}), "
    r"(?:for )?key: ?(\S{1,120}) \(world_size=(\d{1,7}), (?:worker_count|num_workers_joined)=(\d{1,7})"
)
_COMPLETED = re.compile(r"Rank (\d{1,7}): Completed store-based barrier for key: ?(\S{1,120}?)(?: with|$)")
_JOINED = re.compile(r"(\d{1,7})/(\d{1,7}) (?:clients|workers) joined")
#: `[Rank 0]: Rank 3 failed to pass monitoredBarrier in 10000 ms`, `Ranks 1, 3 failed to pass monitoredBarrier`
_MONITORED = re.compile(r"Ranks? ((?:\d{1,7}(?:, ?)?)+) failed to pass monitoredBarrier")
#: `[6] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', ..`
_UNIQUE_ID = re.compile(r"\[(\d{1,7})\] is setting up NCCL communicator and retrieving ncclUniqueId from \[(\d{1,7})\]")


@dataclass(frozen=True, slots=True)
class RendezvousLine:
    """One such line; `rank` and `world_size` are None if it does not state them."""

    rank: Rank | None
    missing: MissingPeers
    world_size: int | None


def find(lines: tuple[str, ...]) -> Iterator[RendezvousLine]:
    """All waits that were not completed later, in order, without repetitions."""
    waits: dict[RendezvousLine, None] = {}
    for line in lines:
        if not any(mark in line for mark in MARKS):
            continue
        if over := _COMPLETED.search(line):
            ended = Rank(int(over[1])), over[2].rstrip(",")
            waits = {report: None for report in waits if (report.rank, report.missing.key) != ended}
        elif (report := _report(line)) is not None:
            waits[report] = None
    yield from waits


def _report(line: str) -> RendezvousLine | None:
    if barrier := _BARRIER.search(line):
        missing = MissingPeers("init_process_group", arrived=int(barrier[4]), key=barrier[2].rstrip(","))
        return RendezvousLine(Rank(int(barrier[1])), missing, int(barrier[3]))
    if monitored := _MONITORED.search(line):
        named = tuple(Rank(int(number)) for number in re.findall(r"\d+", monitored[1]))
        return RendezvousLine(Rank(0), MissingPeers("monitored_barrier", named), None)
    if setting_up := _UNIQUE_ID.search(line):
        return RendezvousLine(
            Rank(int(setting_up[1])), MissingPeers("communicator setup", (Rank(int(setting_up[2])),)), None
        )
    if joined := _JOINED.search(line):
        return RendezvousLine(
            None, MissingPeers("init_process_group", arrived=int(joined[1]), key="store"), int(joined[2])
        )
    return None
