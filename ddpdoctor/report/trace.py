"""Pure. The ranks' events as Chrome trace events, which Perfetto and chrome://tracing open.

A rank is a process and each of its threads a track. A page says when something began and not when it ended, so a slice
lasts until the next event of its thread, and the last one until the capture or the end of the process. Arrows join the
members of a group in the same operation.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.progress import Event, Page
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.report.lanes import phase, place, words
from ddpdoctor.report.terminal_text import Style

#: slices of all ranks together; of more, each rank's newest are kept
MOST_SLICES = 400_000
_STYLE = Style(color=False, unicode=True)


@dataclass(frozen=True, slots=True)
class _Slice:
    rank: Rank
    event: Event
    end: float


def render(exhibit: Exhibit) -> str:
    """The trace as JSON, one event a line; without evidence a trace without slices."""
    evidence = exhibit.evidence
    lines = [json.dumps(event, ensure_ascii=False) for event in _events(exhibit, evidence)] if evidence else []
    other = json.dumps({"producer": "ddpdoctor", **dict(sorted(exhibit.report.versions.items()))}, ensure_ascii=False)
    body = ",\n".join(lines)
    return f'{{"displayTimeUnit": "ms", "otherData": {other}, "traceEvents": [\n{body}\n]}}\n'


def _events(exhibit: Exhibit, evidence: Evidence) -> Iterator[dict[str, Any]]:
    start = evidence.timing.started or min(
        (seen.page.events[0].time for seen in evidence.ranks if seen.page and seen.page.events), default=0.0
    )
    most = max(MOST_SLICES // max(len(evidence.ranks), 1), 50)
    for seen in evidence.ranks:
        yield from _tracks(seen, most)
    slices = [one for seen in evidence.ranks if seen.page for one in _slices(evidence, seen, seen.page, most)]
    for one in slices:
        yield _slice(one, start)
    yield from _arrows(slices, exhibit.partings, start)
    yield from _marks(exhibit, evidence, start)


def _tracks(seen: RankEvidence, most: int) -> Iterator[dict[str, Any]]:
    """The names and the order of a rank's tracks: the thread that trains comes first."""
    events = seen.page.events[-most:] if seen.page else ()
    name = f"rank {seen.rank}" if events else f"rank {seen.rank} (nothing recorded)"
    yield _named("process_name", seen.rank, 0, {"name": name})
    yield _named("process_sort_index", seen.rank, 0, {"sort_index": int(seen.rank)})
    threads = {thread.os_id: thread.name for thread in seen.stacks.threads} if seen.stacks else {}
    ids = sorted({event.thread for event in events}, key=lambda thread: (thread != seen.thread, thread))
    for number, thread in enumerate(ids):
        own = "training thread" if thread == seen.thread else f"thread {thread}"
        said = threads.get(thread, "")
        label = f"{own} ({_STYLE.line(said)})" if said else own
        yield _named("thread_name", seen.rank, thread, {"name": label})
        yield _named("thread_sort_index", seen.rank, thread, {"sort_index": number})


def _named(what: str, rank: Rank, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": int(rank), "tid": thread, "args": args}


def _slices(evidence: Evidence, seen: RankEvidence, page: Page, most: int) -> list[_Slice]:
    last = page.ending.time if page.ending else evidence.timing.collected
    following: dict[int, float] = {}
    found: list[_Slice] = []
    for event in reversed(page.events[-most:]):
        end = following.get(event.thread, max(last, event.time))
        found.append(_Slice(seen.rank, event, end))
        following[event.thread] = event.time
    return found[::-1]


def _slice(one: _Slice, start: float) -> dict[str, Any]:
    event = one.event
    told: dict[str, Any] = {"event": event.index}
    if event.site:
        told["at"] = _STYLE.line(f"{event.site.file}:{event.site.line} in {event.site.function}")
    if event.call:
        call = event.call
        group = _STYLE.line(call.group.name) if call.group else None
        fields = {"group": group, "elements": call.numel, "dtype": call.dtype, "root": call.root, "tag": call.tag}
        told |= {name: value for name, value in fields.items() if value is not None}
        told |= {"asynchronous": True} if call.asynchronous else {}
    where = place(event)
    return {
        "ph": "X",
        "name": _STYLE.line(words(event)),
        "cat": phase(event),
        "ts": _micro(event.time - start),
        "dur": _micro(max(one.end - event.time, 0.0)),
        "pid": int(one.rank),
        "tid": event.thread,
        "args": {"line": _STYLE.line(where), **told} if where else told,
    }


def _micro(seconds: float) -> float:
    return round(seconds * 1e6, 3)


def _arrows(slices: Sequence[_Slice], partings: Mapping[Rank, float], start: float) -> Iterator[dict[str, Any]]:
    """The operations of each group, member by member in the order in which they came to it."""
    number = 0
    for group, by_rank in _by_group(slices, partings).items():
        for met in _meetings(by_rank):
            if len(met) < 2:
                continue
            number += 1
            ordered = sorted(met, key=lambda one: one.event.time)
            for place_, one in enumerate(ordered):
                step = "s" if place_ == 0 else "f" if place_ == len(ordered) - 1 else "t"
                flow = {
                    "ph": step,
                    "id": number,
                    "name": _STYLE.line(words(one.event)),
                    "cat": f"group {_STYLE.line(group.name)}",
                    "ts": _micro(one.event.time - start),
                    "pid": int(one.rank),
                    "tid": one.event.thread,
                }
                yield flow | ({"bp": "e"} if step == "f" else {})


def _by_group(slices: Sequence[_Slice], partings: Mapping[Rank, float]) -> Mapping[Group, Mapping[Rank, list[_Slice]]]:
    """The collectives of each group by rank, up to where the rank parted from the others."""
    found: dict[Group, dict[Rank, list[_Slice]]] = {}
    for one in slices:
        call = one.event.call
        if call is None or call.kind not in COLLECTIVE or call.group is None:
            continue
        if one.event.time < partings.get(one.rank, float("inf")):
            key = Group(call.group.name, call.group.members)
            found.setdefault(key, {}).setdefault(one.rank, []).append(one)
    return found


def _meetings(by_rank: Mapping[Rank, list[_Slice]]) -> Iterator[list[_Slice]]:
    """The n-th operation of each member together, until members differ in it.

    Rings may have lost their oldest events: each is begun where it is nearest in time to the one that begins last.
    """
    latest = max(by_rank.values(), key=lambda ours: ours[0].event.time)[0]
    begun = [ours[_nearest(ours, latest) :] for ours in by_rank.values()]
    for number in range(max(map(len, begun))):
        met = [ours[number] for ours in begun if number < len(ours)]
        if len({(one.event.call.op, one.event.call.root) for one in met if one.event.call}) > 1:
            return
        yield met


def _nearest(ours: Sequence[_Slice], other: _Slice) -> int:
    """The place of the operation that is nearest in time."""
    return min(range(len(ours)), key=lambda n: abs(ours[n].event.time - other.event.time))


def _marks(exhibit: Exhibit, evidence: Evidence, start: float) -> Iterator[dict[str, Any]]:
    """Where ranks parted, what they raised, and when the verdict was reached."""
    for seen in evidence.ranks:
        parted = exhibit.partings.get(seen.rank)
        if parted is not None:
            yield _mark("parted from the others here", seen.rank, seen.thread, parted - start)
        raised = seen.page.ending.raised if seen.page and seen.page.ending else None
        if raised is not None and raised.time >= start:
            yield _mark(
                _STYLE.line(f"raised {raised.type}: {raised.message}")[:200],
                seen.rank,
                seen.thread,
                raised.time - start,
            )
    first = next(iter(exhibit.report.diagnoses), None)
    if first and evidence.ranks and evidence.timing.detected >= start:
        said = _STYLE.line(f"{first.code}: {first.summary}")
        yield {
            **_mark(said, evidence.ranks[0].rank, evidence.ranks[0].thread, evidence.timing.detected - start),
            "s": "g",
        }


def _mark(name: str, rank: Rank, thread: int, seconds: float) -> dict[str, Any]:
    return {"ph": "i", "s": "t", "name": name, "cat": "mark", "ts": _micro(seconds), "pid": int(rank), "tid": thread}
