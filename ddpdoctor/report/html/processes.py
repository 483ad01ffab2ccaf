"""Pure. The processes of the ranks as the kernel describes them, those that are alike in one row."""

from __future__ import annotations

from collections import Counter

from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.report.code_frame import ranks_in_words
from ddpdoctor.report.html.element import Child, section, table

_MOST_ROWS = 60
_MOST_PIDS = 4
_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "uninterruptible sleep",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": "ended, not reaped",
    "I": "idle",
}
_HEAD = ("ranks", "pid", "state", "main thread in", "cores", "read and written", "children")


def drawn(exhibit: Exhibit) -> Child:
    """The section, None if no process was looked at."""
    evidence = exhibit.evidence
    if evidence is None or not any(seen.process or seen.exit for seen in evidence.ranks):
        return None
    rows = _rows(evidence)
    cells = [(ranks_in_words(ranks), _pids(evidence, ranks), *what) for what, ranks in rows[:_MOST_ROWS]]
    left = f" {len(rows) - _MOST_ROWS} more rows are left out." if len(rows) > _MOST_ROWS else ""
    lead = f"What the kernel says of each rank, between two samples where there are two.{left}"
    return section("processes", "Processes", table("The processes of the ranks", _HEAD, cells), lead=lead)


def _rows(evidence: Evidence) -> list[tuple[tuple[str, ...], RankSet]]:
    found: dict[tuple[str, ...], list[Rank]] = {}
    for seen in evidence.ranks:
        found.setdefault((_state(seen), _main(seen), _cores(seen), _bytes(seen), _children(seen)), []).append(seen.rank)
    return [(what, RankSet.of(ranks)) for what, ranks in found.items()]


def _pids(evidence: Evidence, ranks: RankSet) -> str:
    """A pid of 0 is that of a process which no file names."""
    pids = [seen.worker.pid for rank in ranks if (seen := evidence.rank(rank)) and seen.worker.pid > 0]
    more = f" and {len(pids) - _MOST_PIDS} more" if len(pids) > _MOST_PIDS else ""
    return ", ".join(map(str, pids[:_MOST_PIDS])) + more


def _state(seen: RankEvidence) -> str:
    if seen.exit is not None:
        return "ended" if seen.exit.status is None else _ended(seen.exit.status)
    return _STATES.get(seen.process.state, seen.process.state) if seen.process else "not seen"


def _ended(status: int) -> str:
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"


def _main(seen: RankEvidence) -> str:
    thread = seen.process.thread(seen.thread) if seen.process else None
    return "" if thread is None else thread.call or thread.wchan


def _cores(seen: RankEvidence) -> str:
    return f"{seen.motion.cpu_share:.1f}" if seen.motion and seen.process else ""


def _bytes(seen: RankEvidence) -> str:
    if seen.motion is None or seen.process is None:
        return ""
    rate = seen.motion.io_rate
    return f"{rate / 1e6:.1f} MB/s" if rate >= 1e5 else "a little" if rate >= 1 else "nothing"


def _children(seen: RankEvidence) -> str:
    states = Counter(
        _STATES.get(child.process.state, child.process.state) if child.process else "not seen"
        for child in seen.children
    )
    return ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
