"""Pure. Lines of ProcessGroupNCCL's watchdog, in the spellings of torch 1.8 to 2.15.

    [E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=..)
    [rank1]:[E816 ...] [PG ID 0 PG GUID 0(default_pg) Rank 1] ... last enqueued NCCL work: 811, last completed ...: 807.
    [PG 1 Rank 0], [PG 0 (default_pg) Rank 3] in torch 2.2 to 2.4
    [rank0]:[E ...] ...  failure detected by watchdog at work sequence id: 461 PG status: last enqueued work: 463, ...
    [rank2]:[E ...] ... Received a dump signal due to a collective timeout from  rank 1 ... Last enqueued NCCL work:
      460, last completed NCCL work: 460.
    [rank0]:[E ...] Stack trace of the failed collective:
    #0 all_reduce from /usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py:2935

The line on a dump signal is that of a rank which need not have timed out: it tells how far the culprit has come.

`Rank` in these brackets is the rank in the group, not in the job; only the prefix `[rank1]:` is the job's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ddpdoctor.archive.fragment import CollectiveTimeout, StuckWatchdog
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model.stacks import Site

#: what every line of interest holds: looked for first, because a regular expression per line is slow
MARKS = ("WorkNCCL(", "ast enqueued", "Work(", "WorkXCCL(", "WorkHCCL(")
#: numbers in a log: a longer run of digits is damage
_N = r"(\d{1,18})"
_MOST_FRAMES = 256

_WORK = re.compile(r"Work(?:[A-Z]{2,6})?\(([^()]*(?:\(ms\)[^()]*)*)\)")
_FIELD = re.compile(r"([A-Za-z]+(?:\(ms\))?)=([^,()]{1,64})")
_BLAMED = re.compile(r"caught collective operation timeout|timed out in blocking wait|timeout at work|Timeout at", re.I)
_FRONTIER = re.compile(rf"[Ll]ast enqueued(?: NCCL| XCCL)? work: ?{_N}.*?last completed(?: NCCL| XCCL)? work: ?{_N}")
_AT = re.compile(rf"(?:at work(?: sequence id)?|NCCL work|XCCL work): ?{_N}(?:,| PG status:) last enqueued")
_STUCK = re.compile(r"watchdog got stuck for (\d{1,9}) seconds|Heartbeat monitor timed out!")
#: frames follow, the innermost first, on lines that have no prefix of their own
STACK = "Stack trace of the failed collective:"
FRAME = re.compile(r"^#\d{1,4} (\S.{0,200}?) from (.{1,1000}?):(\d{1,9})\s*$")
_RANK = re.compile(r"\[(?:[^\[\]]{0,200} )?Rank (\d{1,7})\]")
#: 2.5 on: both numbers, then the description; before: one number, or number and description
_GUID = re.compile(r"\[PG (?:ID \S+ )?(?:PG )?GUID ([^\s(\]]{1,80})(?:\(([^)\]]{0,80})\))? Rank \d")
_OLD_GROUP = re.compile(r"\[PG ([^\s\]]{1,80})(?: \(([^)\]]{0,80})\))? Rank \d")

#: torch's OpType -> canonical names, as the rules and the recorder know them
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
    """One line: a collective that timed out, or how far the rank has come in a group; and whose line it is."""

    timeout: CollectiveTimeout
    #: false for a line that only tells the frontier
    timed_out: bool


def find(lines: tuple[str, ...]) -> Iterator[WatchdogLine]:
    """All timeouts and frontiers that the lines report, in order; a timeout with its stack where that follows."""
    held: WatchdogLine | None = None
    for number, line in enumerate(lines):
        if STACK in line and held is not None:
            held = replace(held, timeout=replace(held.timeout, site=_site(lines, number + 1)))
        for said in _said(line):
            if said.timed_out and held is not None:
                yield held
            if said.timed_out:
                held = said
            else:
                yield said
    if held is not None:
        yield held


def find_stuck(lines: tuple[str, ...]) -> StuckWatchdog | None:
    """What a heartbeat monitor says of a watchdog that stands still; None where none says so."""
    found = [match for line in lines if "eartbeat" in line or "got stuck" in line for match in _STUCK.finditer(line)]
    seconds = [int(match[1]) for match in found if match[1]]
    return StuckWatchdog(max(seconds, default=None)) if found else None


def _site(lines: tuple[str, ...], first: int) -> Site | None:
    """The user's innermost frame of the stack that begins on this line."""
    stack: list[Site] = []
    for line in lines[first : first + _MOST_FRAMES]:
        frame = FRAME.match(line)
        if frame is None:
            break
        stack.append(Site(frame[2], int(frame[3]), frame[1]))
    return frames.innermost_user_frame(stack)


def _said(line: str) -> Iterator[WatchdogLine]:
    if any(mark in line for mark in MARKS):
        work = _WORK.search(line) if _BLAMED.search(line) else None
        said = _timeout(work[1]) if work else None
        if said is not None:
            yield WatchdogLine(_whose(said, line), True)
        elif frontier := _FRONTIER.search(line):
            at = _AT.search(line)
            seq = int(at[1]) if at else None
            told = CollectiveTimeout("", seq, enqueued=int(frontier[1]), completed=int(frontier[2]))
            yield WatchdogLine(_whose(told, line), False)


def canonical_op(op: str) -> str:
    """`_ALLGATHER_BASE` -> `all_gather_into_tensor`; what is not known is only written small."""
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


def _whose(said: CollectiveTimeout, line: str) -> CollectiveTimeout:
    rank = _RANK.search(line)
    named = _GUID.search(line) or _OLD_GROUP.search(line)
    return replace(
        said,
        group=named[1] if named else "",
        description=(named[2] or "") if named else "",
        rank_in_group=int(rank[1]) if rank else None,
    )
