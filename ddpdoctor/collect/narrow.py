"""Pure. A process as only some of its threads: they are deadlocked while the others go on, and so it is examined as
though it had no others."""

from __future__ import annotations

import dataclasses

from ddpdoctor.model.processes import ProcessState
from ddpdoctor.model.progress import Page
from ddpdoctor.model.stacks import Stacks


def page(whole: Page, threads: tuple[int, ...]) -> Page:
    """What these threads have written. It moves if their calls or events do."""
    calls = tuple(call for call in whole.calls if call.thread in threads)
    events = tuple(event for event in whole.events if event.thread in threads)
    moved = max((*(call.since for call in calls), *(event.time for event in events)), default=0.0)
    return dataclasses.replace(
        whole,
        moved=moved,
        revision=int(moved * 1e9) + len(calls),
        calls=calls,
        events=events,
        communicating_threads=tuple(thread for thread in whole.communicating_threads if thread in threads),
        pending=(),
        leaving=None,
    )


def stacks(whole: Stacks, threads: tuple[int, ...]) -> Stacks:
    return dataclasses.replace(whole, threads=tuple(one for one in whole.threads if one.os_id in threads))


def process(whole: ProcessState, threads: tuple[int, ...]) -> ProcessState:
    """Its state is that of the first of them: the whole process computes for what the others do."""
    kept = tuple(one for one in whole.threads if one.os_id in threads)
    state = kept[0].state if kept else whole.state
    return dataclasses.replace(
        whole, threads=kept, state=state, cpu_seconds=sum(one.cpu_seconds for one in kept), io_bytes=None
    )
