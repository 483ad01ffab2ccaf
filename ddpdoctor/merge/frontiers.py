"""The newest operation of each rank in each process group (its frontier)."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.report import Frontier, GroupReport


def merge_frontiers(evidence: Evidence) -> tuple[GroupReport, ...]:
    """Every group that a page lists, with its members' last operations, the one furthest behind first."""
    return tuple(
        GroupReport(
            group.name, group.label(evidence.world_size), RankSet.of(group.members), _frontiers(evidence, group)
        )
        for group in all_groups(evidence.ranks)
    )


def all_groups(ranks: Iterable[RankEvidence]) -> tuple[Group, ...]:
    """Groups by name and members over all ranks; one with a description is preferred to one without."""
    found: dict[tuple[str, tuple[Rank, ...]], Group] = {}
    for rank in ranks:
        for group in rank.page.groups if rank.page else ():
            key = (group.name, group.members)
            if key not in found or not found[key].description:
                found[key] = group
    return tuple(found[key] for key in sorted(found))


def _frontiers(evidence: Evidence, group: Group) -> tuple[Frontier, ...]:
    ranks_at: dict[tuple[int, str, bool], list[Rank]] = {}
    for rank in group.members:
        seen = evidence.rank(rank)
        place = _last(seen, group) if seen else None
        if place:
            ranks_at.setdefault(place, []).append(rank)
    return tuple(
        Frontier(RankSet.of(ranks), seq, op, finished)
        for (seq, op, finished), ranks in sorted(ranks_at.items(), key=lambda item: item[0])
    )


def _last(rank: RankEvidence, group: Group) -> tuple[int, str, bool] | None:
    """(seq, op, finished) of the newest operation; counted from the history if there is no recorder."""
    if rank.recorder is not None:
        entry = rank.recorder.last(group.name)
        return (entry.seq, entry.op, entry.retired or entry.state == "completed") if entry else None
    if rank.page is None or rank.page.events_lost:
        return None
    calls = [
        event.call
        for event in rank.page.events
        if event.kind is EventKind.CALL and event.call and event.call.kind in COLLECTIVE
        if event.call.group and (event.call.group.name, event.call.group.members) == (group.name, group.members)
    ]
    if not calls:
        return None
    in_flight = any(call.since == calls[-1].since for call in rank.page.calls)
    return len(calls), calls[-1].op, not in_flight
