"""Phrases that several diagnoses use, so that the same fact always has the same wording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.rank_state import Activity, wait_label
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site

#: what helps where each rank decides by itself
DECIDE_TOGETHER = "Decide together: all_reduce the flag or the metric, and let every rank act on the result."


def ranks(members: RankSet) -> str:
    """`rank 1`, `ranks 0,2-3`."""
    return f"rank{'s' if len(members) > 1 else ''} {members}"


def verb(members: RankSet, one: str, many: str) -> str:
    return one if len(members) == 1 else many


def place(site: Site | None) -> str:
    """`train.py:88`, short enough for a line; `package/__init__.py:7`, because that file name alone is ambiguous."""
    if site is None:
        return "a place that no stack shows"
    path = PurePath(site.file)
    name = f"{path.parent.name}/{path.name}" if path.stem == "__init__" else path.name
    return f"{name}:{site.line}"


def step(event: HistoryStep | None) -> str:
    """An event of a history, in words."""
    if event is None:
        return "nothing more"
    words = {
        EventKind.NEXT: "the next batch",
        EventKind.STOP_ITERATION: "the end of the data",
        EventKind.FORWARD: "a forward",
        EventKind.FORWARD_NO_SYNC: "a forward under no_sync",
        EventKind.BACKWARD: "a backward",
        EventKind.OPTIMIZER_STEP: "an optimizer step",
        EventKind.NEXT_RAISED: "an exception of the data loader",
    }
    return f"{words.get(event.kind, event.op)} at {place(event.site)}{within(event)}"


def within(event: HistoryStep) -> str:
    """` (by accelerator.py:2861)`: the line of a library that did it for the job's line; "" if there is none."""
    return f" (by {place(event.via[0])})" if event.via else ""


def parted(odd_next: HistoryStep | None, reference_next: HistoryStep | None) -> str:
    """What either side of a divergence did next, in words."""
    return f"the histories diverge: {step(odd_next)} against {step(reference_next)}"


def waiting(facts: Facts, members: RankSet) -> str:
    """`all_reduce seq 8 at train.py:88`, or `barrier seq 8 at train.py:9 (rank 0) and all_reduce seq 8 at train.py:88
    (ranks 1-2)`: where these wait.
    """
    held = RankSet.of(rank for rank in members if facts.wait(rank))
    return _together(held, lambda rank: _waits(facts, rank)) if held else "no known wait"


def _waits(facts: Facts, rank: Rank) -> str:
    wait = facts.wait(rank)
    assert wait is not None
    site = facts.state(rank).site or wait.site
    return f"{wait_label(wait)} at {place(site)}" if site else wait_label(wait)


def _together(members: RankSet, said: Callable[[Rank], str]) -> str:
    """What is said of each of these ranks, once for all of whom the same is said."""
    alike: dict[str, list[Rank]] = {}
    for rank in members:
        alike.setdefault(said(rank), []).append(rank)
    if len(alike) == 1:
        return next(iter(alike))
    named = [f"{what} ({ranks(RankSet.of(who))})" for what, who in alike.items()]
    return f"{', '.join(named[:-1])} and {named[-1]}"


def inside(facts: Facts, members: RankSet) -> str:
    """`is in all_reduce seq 8 at train.py:88`: where these wait."""
    return f"{verb(members, 'is', 'are')} in {waiting(facts, members)}"


def now(facts: Facts, members: RankSet) -> str:
    """`is in all_reduce seq 8 at train.py:88`, or `ended at train.py:88`: the state of these; of those that wait, if
    not all do. A function that returned in a process that lives on returned after its last call.
    """
    if any(facts.wait(rank) for rank in members):
        return inside(facts, members)
    if all(facts.state(rank).activity is Activity.EXITED for rank in members):
        did = "returned after the call" if any(facts.state(rank).returned for rank in members) else "ended"
        return f"{did} {_together(members, lambda rank: f'at {place(facts.state(rank).site)}')}"
    return f"{verb(members, 'is', 'are')} {_together(members, lambda rank: f'at {place(facts.state(rank).site)}')}"


def standing(facts: Facts, members: RankSet) -> str:
    """`idle in handle at other.py:3`: what these are at."""

    def said(rank: Rank) -> str:
        state = facts.state(rank)
        return f"{state.label} at {place(state.site)}" if state.site else state.label

    return _together(members, said)


def held_up(facts: Facts, members: RankSet, whom: str = "it") -> str:
    """` Ranks 0,2 wait for it in all_reduce seq 8 at train.py:88.`, to follow a sentence; "" for no ranks."""
    if not members:
        return ""
    return f" {ranks(members).capitalize()} {verb(members, 'waits', 'wait')} for {whom} in {waiting(facts, members)}."


def batches(count: int) -> str:
    return f"{count} batch{'' if count == 1 else 'es'}"


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
