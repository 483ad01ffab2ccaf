"""Pure. What each rank did in its last seconds, from the events of its page, as bars on a common clock.

An event says when something began and not when it ended: a bar lasts until the next event of the rank. The clock of
ranks on several machines is not common, so bars of different machines are not to be compared to the millisecond.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.progress import Event, EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus

#: newest events of a rank that are shown, and all since the ranks parted if that is not too long ago
FEWEST_EVENTS, MOST_EVENTS = 28, 160
#: with more ranks than this, those that did the same share a lane
_SINGLE = 16
MOST_LANES = 32
#: share of the width that is left for what the ranks are in now
_NOW = 0.22
_PHASES = {
    EventKind.CALL: "call",
    EventKind.NEXT: "data",
    EventKind.STOP_ITERATION: "data",
    EventKind.NEXT_RAISED: "data",
    EventKind.FORWARD: "forward",
    EventKind.FORWARD_NO_SYNC: "forward",
    EventKind.BACKWARD: "backward",
    EventKind.OPTIMIZER_STEP: "update",
}
#: phase -> how readers know it, in the order of a step
PHASES = {
    "data": "next batch",
    "forward": "forward",
    "backward": "backward",
    "update": "optimizer step",
    "call": "communication",
    "now": "now, since its last event",
}
_WORDS = {
    EventKind.NEXT: "next batch",
    EventKind.STOP_ITERATION: "end of data",
    EventKind.NEXT_RAISED: "the data raised",
    EventKind.FORWARD: "forward",
    EventKind.FORWARD_NO_SYNC: "forward (no_sync)",
    EventKind.BACKWARD: "backward",
    EventKind.OPTIMIZER_STEP: "optimizer step",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that a rank began: seconds, 0 is the newest event of all ranks."""

    start: float
    end: float
    #: a key of PHASES
    phase: str
    what: str
    place: str


@dataclass(frozen=True, slots=True)
class Lane:
    """Ranks that did the same; the bars are those of the first of them."""

    ranks: RankSet
    bars: tuple[Bar, ...]
    #: where it parted from the others, None if it did not
    parted: float | None
    now: str


@dataclass(frozen=True, slots=True)
class Strip:
    """The lanes and the span of time that they show; `silence` is the time from the newest event to the capture."""

    lanes: tuple[Lane, ...]
    start: float
    end: float
    silence: float
    #: ranks of further lanes that are not shown
    hidden: RankSet


def words(event: Event) -> str:
    """What an event is, as readers know it: `all_reduce (group dp)`, `forward`."""
    if event.call is None:
        return _WORDS.get(event.kind, event.kind.value)
    call = event.call
    peer = "" if call.peer is None else f" {'to' if 'send' in call.op else 'from'} rank {call.peer}"
    group = (
        "" if call.group is None or call.group.name == "0" else f" (group {call.group.description or call.group.name})"
    )
    return f"{call.op}{peer}{group}"


def phase(event: Event) -> str:
    """The key in PHASES."""
    return _PHASES[event.kind]


def place(event: Event) -> str:
    """`train.py:88`, "" if the line is not known."""
    return f"{event.site.file.rpartition('/')[2]}:{event.site.line}" if event.site else ""


def strip(exhibit: Exhibit) -> Strip | None:
    """The strip of all ranks that have a page; None if no rank has events."""
    seen = [rank for rank in exhibit.evidence.ranks if rank.page] if exhibit.evidence else []
    parted = min(exhibit.partings.values(), default=None)
    events = {rank.rank: tail for rank in seen if (tail := _tail(rank, parted))}
    if not events or exhibit.evidence is None:
        return None
    zero = max(tail[-1].time for tail in events.values())
    start = min(max(tail[0].time for tail in events.values()) - zero, -1e-3)
    end = -start * _NOW
    statuses = {status.rank: status for status in exhibit.report.ranks}
    lanes = [
        _lane(ranks, events[ranks.members[0]], statuses.get(ranks.members[0]), exhibit, (zero, start, end))
        for ranks in _alike(events, statuses, exhibit.partings)
    ]
    shown = _most_relevant(lanes, exhibit)
    hidden = RankSet.of(rank for lane in lanes if lane not in shown for rank in lane.ranks)
    silence = max(exhibit.evidence.timing.collected - zero, 0.0)
    return Strip(tuple(shown), start, end, silence, hidden)


def _tail(rank: RankEvidence, parted: float | None) -> tuple[Event, ...]:
    """The newest events, with a few before the parting."""
    events = rank.page.training() if rank.page else ()
    since = 0 if parted is None else sum(event.time >= parted for event in events)
    wanted = max(FEWEST_EVENTS, since + since // 3 + 4)
    return events[-wanted if wanted <= MOST_EVENTS else -FEWEST_EVENTS :]


def _alike(
    events: Mapping[Rank, tuple[Event, ...]], statuses: Mapping[Rank, RankStatus], partings: Mapping[Rank, float]
) -> list[RankSet]:
    """One set for each rank, or for each behaviour if there are many."""
    if len(events) <= _SINGLE:
        return [RankSet.of([rank]) for rank in sorted(events)]
    found: dict[object, list[Rank]] = {}
    for rank in sorted(events):
        did = tuple((event.kind, words(event), event.site) for event in events[rank])
        status = statuses.get(rank)
        found.setdefault((did, status and (status.state, status.label), rank in partings), []).append(rank)
    return [RankSet.of(ranks) for ranks in found.values()]


def _most_relevant(lanes: Sequence[Lane], exhibit: Exhibit) -> list[Lane]:
    """All, or those of the culprits and the largest others; in the order of ranks."""
    culprits = {rank for diagnosis in exhibit.report.diagnoses[:1] for rank in diagnosis.culprits}

    def weight(lane: Lane) -> tuple[bool, int]:
        return not culprits & set(lane.ranks), -len(lane.ranks)

    chosen = sorted(lanes, key=weight)[:MOST_LANES]
    return sorted(chosen, key=lambda lane: lane.ranks.members)


def _lane(
    ranks: RankSet,
    events: Sequence[Event],
    status: RankStatus | None,
    exhibit: Exhibit,
    clock: tuple[float, float, float],
) -> Lane:
    """`clock`: the moment that is 0, and the span of the strip."""
    zero, start, end = clock
    ends = [*(event.time - zero for event in events[1:]), end]
    bars = [
        Bar(max(event.time - zero, start), until, phase(event), words(event), place(event))
        for event, until in zip(events, ends, strict=True)
        if until > start
    ]
    newest = bars[-1]
    label = status.label if status and status.label else newest.what
    where = status.location if status else None
    line = f"{where.file.rpartition('/')[2]}:{where.line}" if where else newest.place
    bars[-1] = Bar(newest.start, newest.end, "now", label, line)
    parted = exhibit.partings.get(ranks.members[0])
    now = f"{status.state}: {status.label}" if status and status.label else status.state if status else ""
    return Lane(ranks, tuple(bars), None if parted is None else parted - zero, now)
