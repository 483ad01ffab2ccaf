"""Pure. Lines of ProcessGroupNCCL's watchdog, as torch 1.8 to 2.15 write them.

    [E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=..)
    [rank1]:[E816 ...] [PG ID 0 PG GUID 0(default_pg) Rank 1] ... last enqueued NCCL work: 811, last completed ...: 807.
    [PG 1 Rank 0], [PG 0 (default_pg) Rank 3] in torch 2.2 to 2.4
    [rank0]:[E ...] ...  failure detected by watchdog at work sequence id: 461 PG status: last enqueued work: 463, ...
    [rank2]:[E ...] ... Received a dump signal due to a collective timeout from  rank 1 ... Last enqueued NCCL work:
      460, last completed NCCL work: 460.
    [rank0]:[E ...] Stack trace of the failed collective:
    #0 all_reduce from /usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py:2935

The line about a dump signal is of a rank that need not have timed out: it shows how far that rank has come.

`Rank` in these brackets is the rank in the group; only the prefix `[rank1]:` is the global rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ddpdoctor.archive.fragment import CollectiveTimeout, StuckWatchdog
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model.stacks import Site

#: substrings of which every relevant line contains one; searched first because a regular expression per line is slow
MARKS = ("WorkNCCL(", "ast enqueued", "Work(", "WorkXCCL(", "WorkHCCL(")
#: a number in a log; longer runs of digits are damage
_N = r"(\d{1,18})"
_MOST_FRAMES = 256

_WORK = re.compile(r"Work(?:[A-Z]{2,6})?\(([^()]*(?:\(ms\)[^()]*)*)\)")
_FIELD = re.compile(r"([A-Za-z]+(?:\(ms\))?)=([^,()]{1,64})")
_BLAMED = re.compile(r"caught collective operation timeout|timed out in blocking wait|timeout at work|Timeout at", re.I)
_FRONTIER = re.compile(rf"[Ll]ast enqueued(?: NCCL| XCCL)? work: ?{_N}.*?last completed(?: NCCL| XCCL)? work: ?{_N}")
_AT = re.compile(rf"(?:at work(?: sequence id)?|NCCL work|XCCL work): ?{_N}(?:,| PG status:) last enqueued")
_STUCK = re.compile(r"watchdog got stuck for (\d{1,9}) seconds|Heartbeat monitor timed out!")
#: frames follow, innermost first, on lines without a prefix
STACK = "Stack trace of the failed collective:"
FRAME = re.compile(r"^#\d{1,4} (\S.{0,200}?) from (.{1,1000}?):(\d{1,9})\s*$")
_RANK = re.compile(r"\[(?:[^\[\]]{0,200} )?Rank (\d{1,7})\]")
#: torch 2.5 and later: both numbers, then the description; earlier: one number, or a number and the description
_GUID = re.compile(r"\[PG (?:ID \S+ )?(?:PG )?GUID ([^\s(\]]{1,80})(?:\(([^)\]]{0,80})\))? Rank \d")
_OLD_GROUP = re.compile(r"\[PG ([^\s\]]{1,80})(?: \(([^)\]]{0,80})\))? Rank \d")

#: torch's OpType -> the canonical names of c10d
_OPS = {
    "ALLREDUCE": "all_reduce",
    "ALLREDUCE_COALESCED": "all_reduce_coalesced",
    "ALLGATHER": "all_gather",
    "_ALLGATHER_BASE": "all_gather_into_tensor",
    "ALLGATHER_COALESCED": "all_gather_coalesced",
    "ALLGATHER_INTO_TENSOR_COALESCED": "all_gather_into_tensor_coalesced",
    "REDUCE_SCATTER": "reduce_scatter",
    "_REDUCE_SCATTER_BASE": "reduce_scatter_tensor",
    "REDUCE_SCATTER_TENSOR_COALESCED": "reduce_scatter_tensor_coalesced",
    "ALLTOALL": "all_to_all",
    "ALLTOALL_BASE": "all_to_all_single",
    "RECVANYSOURCE": "recv",
}


@dataclass(frozen=True, slots=True)
class WatchdogLine:
    """One line: a collective that timed out, or the newest operations of the rank in a group."""

    timeout: CollectiveTimeout
    #: false for a line that only states the newest operations
    timed_out: bool


def find(lines: tuple[str, ...]) -> Iterator[WatchdogLine]:
    """All timeouts and newest operations that the lines report, in order; a timeout with its stack if that follows."""
    held: WatchdogLine | None = None
    for number, line in enumerate(lines):
        if STACK in line and held is not None:
            held = replace(held, timeout=replace(held.timeout, site=_site(lines, number + 1)))
        for said in _read_line(line):
            if said.timed_out and held is not None:
                yield held
            if said.timed_out:
                held = said
            else:
                yield said
    if held is not None:
        yield held


def find_stuck(lines: tuple[str, ...]) -> StuckWatchdog | None:
    """What a heartbeat monitor logged about a blocked watchdog; None if there is no such line."""
    found = [match for line in lines if "eartbeat" in line or "got stuck" in line for match in _STUCK.finditer(line)]
    seconds = [int(match[1]) for match in found if match[1]]
    return StuckWatchdog(max(seconds, default=None)) if found else None


def _site(lines: tuple[str, ...], first: int) -> Site | None:
    """The innermost frame of the user's code in the stack that begins at this line."""
    stack: list[Site] = []
    for line in lines[first : first + _MOST_FRAMES]:
        frame = FRAME.match(line)
        if frame is None:
            break
        stack.append(Site(frame[2], int(frame[3]), frame[1]))
    return frames.innermost_user_frame(stack)


def _read_line(line: str) -> Iterator[WatchdogLine]:
    if any(mark in line for mark in MARKS):
        work = _WORK.search(line) if _BLAMED.search(line) else None
        said = _timeout(work[1]) if work else None
        if said is not None:
            yield WatchdogLine(_with_group(said, line), True)
        elif frontier := _FRONTIER.search(line):
            at = _AT.search(line)
            seq = int(at[1]) if at else None
            newest = CollectiveTimeout("", seq, enqueued=int(frontier[1]), completed=int(frontier[2]))
            yield WatchdogLine(_with_group(newest, line), False)


def canonical_op(op: str) -> str:
    """`_ALLGATHER_BASE` -> `all_gather_into_tensor`; an unknown name is only put into lower case."""
    return _OPS.get(op.upper(), op.lower())


def _timeout(inside: str) -> CollectiveTimeout | None:
    fields = dict(_FIELD.findall(inside))
    if "OpType" not in fields:
        return None
    return CollectiveTimeout(
        canonical_op(fields["OpType"].strip()),
        _number(fields.get("SeqNum")),
        numel_in=_number(fields.get("NumelIn")),
        numel_out=_number(fields.get("NumelOut")),
        milliseconds=_number(fields.get("Timeout(ms)")),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) < 19 else None


def _with_group(said: CollectiveTimeout, line: str) -> CollectiveTimeout:
    rank = _RANK.search(line)
    named = _GUID.search(line) or _OLD_GROUP.search(line)
    return replace(
        said,
        group=named[1] if named else "",
        description=(named[2] or "") if named else "",
        rank_in_group=int(rank[1]) if rank else None,
    )
