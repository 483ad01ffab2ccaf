"""How far every rank has come in every process group, told once per set of equal ranks."""

from __future__ import annotations

from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.report import Frontier, GroupReport


def known_groups(evidence: Evidence) -> tuple[Group, ...]:
    """Groups by name and members, as the ranks' pages tell them."""
    found: dict[tuple[str, tuple[Rank, ...]], Group] = {}
    for rank in evidence.ranks:
        for group in rank.page.groups if rank.page else ():
            found.setdefault((group.name, group.members), group)
    return tuple(found[key] for key in sorted(found))


def group_reports(evidence: Evidence) -> tuple[GroupReport, ...]:
    """One line per group and distinct frontier; a group that nobody has used has none."""
    return tuple(
        GroupReport(
            name=group.name,
            label=group.label(evidence.world_size),
            members=RankSet(group.members),
            frontiers=_frontiers(evidence, group),
        )
        for group in known_groups(evidence)
    )


def _frontiers(evidence: Evidence, group: Group) -> tuple[Frontier, ...]:
    ranks: dict[tuple[int, str, bool], list[Rank]] = {}
    for rank in evidence.ranks:
        last = rank.recorder.last(group.name) if rank.recorder else None
        if last is not None and rank.rank in group.members:
            ranks.setdefault((last.seq, last.op, last.retired), []).append(rank.rank)
    return tuple(
        Frontier(ranks=RankSet.of(members), seq=seq, op=op, finished=finished)
        for (seq, op, finished), members in sorted(ranks.items())
    )
