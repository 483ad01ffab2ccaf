"""Pure. Evidence of one node with its times on another node's clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ddpdoctor.model.collectives import Call
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.processes import Child, ProcessState
from ddpdoctor.model.progress import Event, Page, Raised


def shifted(evidence: Evidence, by: float) -> Evidence:
    """Every time of the evidence later by so many seconds: ages stay what they are."""
    timing = evidence.timing
    return replace(
        evidence,
        ranks=tuple(_rank(seen, by) for seen in evidence.ranks),
        timing=replace(
            timing,
            started=timing.started + by,
            last_progress=timing.last_progress + by,
            detected=timing.detected + by,
            collected=timing.collected + by,
        ),
    )


def _rank(seen: RankEvidence, by: float) -> RankEvidence:
    return replace(
        seen,
        page=_page(seen.page, by) if seen.page else None,
        process=_process(seen.process, by),
        exit=replace(seen.exit, time=seen.exit.time + by) if seen.exit else None,
        children=tuple(_child(child, by) for child in seen.children),
        raised=_raised(seen.raised, by),
    )


def _child(child: Child, by: float) -> Child:
    return replace(child, process=_process(child.process, by))


def _process(state: ProcessState | None, by: float) -> ProcessState | None:
    return replace(state, time=state.time + by) if state else None


def _page(page: Page, by: float) -> Page:
    ending, stacks = page.ending, page.stacks
    if ending is not None:
        ending = replace(ending, time=ending.time + by, raised=_raised(ending.raised, by))
    return replace(
        page,
        heartbeat=page.heartbeat + by,
        moved=page.moved + by,
        calls=tuple(_call(call, by) for call in page.calls),
        events=tuple(_events(page.events, by)),
        pending=tuple(filter(None, (_raised(raised, by) for raised in page.pending))),
        ending=ending,
        leaving=_raised(page.leaving, by),
        ended_threads=tuple(
            replace(thread, raised=_raised(thread.raised, by) or thread.raised) for thread in page.ended_threads
        ),
        stacks=replace(stacks, time=stacks.time + by, seen=stacks.seen + by) if stacks else None,
    )


def _events(events: Iterable[Event], by: float) -> Iterable[Event]:
    for event in events:
        yield replace(event, time=event.time + by, call=_call(event.call, by) if event.call else None)


def _call(call: Call, by: float) -> Call:
    return replace(call, since=call.since + by)


def _raised(raised: Raised | None, by: float) -> Raised | None:
    if raised is None:
        return None
    before = tuple(filter(None, (_raised(one, by) for one in raised.before)))
    return replace(raised, time=raised.time + by, before=before)
