"""Pure. A large job as a small one: some ranks of each behaviour stand for all that behave alike.

The cost of a verdict grows with the number of distinct behaviours, then, and not with the number of ranks. The small
job's ranks are numbered anew; what is said of them is said of all that they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ddpdoctor.model.collectives import Call
from ddpdoctor.model.diagnosis import Diagnosis, Location
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence
from ddpdoctor.model.progress import Event, Page
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.report import GroupReport, RankStatus, Report, StackNode

_RANKS = re.compile(r"\b([Rr]anks?) (\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)")


@dataclass
class Standing:
    """Who stands for whom: the small job's rank -> the ranks of the large one."""

    groups: tuple[RankSet, ...]
    _numbers: dict[Rank, Rank] = field(init=False, repr=False)
    _renumbered: dict[Group, Group] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = {rank: Rank(number) for number, ranks in enumerate(self.groups) for rank in ranks}

    @classmethod
    def of(cls, chosen: RankSet, classes: Iterable[RankSet], world_size: int) -> Standing:
        """`chosen` stand for all of their class, the last of a class for the rest of it. Ranks of no class come last,
        together, and nothing is known of them."""
        stands: dict[Rank, RankSet] = {}
        for members in classes:
            own = [rank for rank in members if rank in chosen]
            for rank in own[:-1]:
                stands[rank] = RankSet((rank,))
            if own:
                stands[own[-1]] = members - RankSet.of(own[:-1])
        known = {rank for ranks in stands.values() for rank in ranks}
        unknown = RankSet.of(rank for rank in range(world_size) if rank not in known)
        return cls((*(stands[rank] for rank in sorted(stands)), *([unknown] if unknown else [])))

    def number(self, rank: Rank) -> Rank:
        """The rank of the small job that stands for this one."""
        return self._numbers.get(rank, Rank(len(self.groups) - 1))

    def all_of(self, numbers: RankSet) -> RankSet:
        return RankSet.of(
            rank for number in numbers if number < len(self.groups) for rank in self.groups[number].members
        )

    def group(self, group: Group | None) -> Group | None:
        if group is None:
            return None
        if group not in self._renumbered:
            members = sorted({self.number(member) for member in group.members})
            self._renumbered[group] = replace(group, members=tuple(members))
        return self._renumbered[group]


def reduced(evidence: Evidence, standing: Standing) -> Evidence:
    """The evidence of the ranks that stand for others, as that of a job of their number."""
    return replace(
        evidence,
        world_size=len(standing.groups),
        ranks=tuple(_rank(seen, standing) for seen in evidence.ranks),
        gaps=tuple(replace(gap, rank=_number(gap.rank, standing)) for gap in evidence.gaps),
        hosts={},
    )


def _number(rank: Rank | None, standing: Standing) -> Rank | None:
    return None if rank is None else standing.number(rank)


def _rank(seen: RankEvidence, standing: Standing) -> RankEvidence:
    number, recorder = standing.number(seen.rank), seen.recorder
    if recorder is not None:
        recorder = replace(
            recorder,
            groups=tuple(filter(None, map(standing.group, recorder.groups))),
            entries=tuple(
                entry if entry.peer is None else replace(entry, peer=_number(entry.peer, standing))
                for entry in recorder.entries
            ),
        )
    return replace(
        seen,
        rank=number,
        worker=replace(seen.worker, rank=number, world_size=len(standing.groups)),
        page=_page(seen.page, number, standing) if seen.page else None,
        recorder=recorder,
    )


def _page(page: Page, number: Rank, standing: Standing) -> Page:
    return replace(
        page,
        rank=number,
        world_size=len(standing.groups),
        groups=tuple(filter(None, map(standing.group, page.groups))),
        calls=tuple(_call(call, standing) for call in page.calls),
        events=tuple(_event(event, standing) for event in page.events),
    )


def _event(event: Event, standing: Standing) -> Event:
    return replace(event, call=_call(event.call, standing)) if event.call else event


def _call(call: Call, standing: Standing) -> Call:
    return replace(
        call,
        group=standing.group(call.group),
        peer=_number(call.peer, standing),
        root=_number(call.root, standing),
    )


@dataclass(frozen=True, slots=True)
class Host:
    """Where some ranks are."""

    ranks: str
    name: str


@dataclass(frozen=True, slots=True)
class Compact:
    """A verdict as it travels: of a large job the report on the small one, and who stands for whom."""

    report: Report
    #: the ranks that each rank of the report stands for; empty where the report is about all
    standing: tuple[str, ...] = ()
    #: of the large job
    hosts: tuple[Host, ...] = ()

    def whole(self) -> Report:
        """The report on all ranks. Raises ValueError if it is not one of these ranks."""
        if not self.standing:
            return self.report
        standing = Standing(tuple(map(RankSet.parse, self.standing)))
        if any(status.rank >= len(standing.groups) for status in self.report.ranks):
            raise ValueError("a rank that stands for none")
        hosts = {rank: host.name for host in self.hosts for rank in RankSet.parse(host.ranks)}
        return expanded(self.report, standing, hosts)


def compacted(report: Report, standing: Standing, hosts: Iterable[Host]) -> Compact:
    """The report on the small job, to be expanded by who gets it."""
    return Compact(report, tuple(map(str, standing.groups)), tuple(hosts))


def expanded(report: Report, standing: Standing, hosts: Mapping[Rank, str]) -> Report:
    """The report on the small job as one on the large one."""
    whole = sum(map(len, standing.groups))
    note = f"{whole} ranks, which behave in a few ways: {len(standing.groups)} of them were compared for all"
    return replace(
        report,
        diagnoses=tuple(_diagnosis(found, standing) for found in report.diagnoses),
        ranks=tuple(sorted(_statuses(report.ranks, standing, hosts), key=lambda status: status.rank)),
        groups=tuple(_group_report(group, standing) for group in report.groups),
        stacks=tuple(_node(node, standing) for node in report.stacks),
        gaps=tuple(_gap(gap, standing) for gap in report.gaps),
        notes=(*(_text(note, standing) for note in report.notes), note),
    )


def _statuses(statuses: Iterable[RankStatus], standing: Standing, hosts: Mapping[Rank, str]) -> Iterable[RankStatus]:
    for status in statuses:
        label = _text(status.label, standing)
        for rank in standing.groups[status.rank]:
            # a rank's own row names that rank alone: all that behave alike in each row would be the square of them
            at = replace(status.location, ranks=RankSet.of((rank,))) if status.location else None
            yield RankStatus(rank, status.state, label, at, status.stack, hosts.get(rank, ""))


def _diagnosis(found: Diagnosis, standing: Standing) -> Diagnosis:
    return replace(
        found,
        culprits=standing.all_of(found.culprits),
        waiting=standing.all_of(found.waiting),
        summary=_text(found.summary, standing),
        why=_text(found.why, standing),
        fix=_text(found.fix, standing),
        locations=tuple(_location(at, standing) for at in found.locations),
        evidence=tuple(_text(one, standing) for one in found.evidence),
    )


def _location(at: Location, standing: Standing) -> Location:
    return replace(at, ranks=standing.all_of(at.ranks))


def _group_report(group: GroupReport, standing: Standing) -> GroupReport:
    frontiers = tuple(replace(one, ranks=standing.all_of(one.ranks)) for one in group.frontiers)
    return replace(group, members=standing.all_of(group.members), frontiers=frontiers)


def _node(node: StackNode, standing: Standing) -> StackNode:
    children = tuple(_node(child, standing) for child in node.children)
    return StackNode(node.site, standing.all_of(node.ranks), children)


def _gap(gap: Gap, standing: Standing) -> Gap:
    ranks = standing.groups[gap.rank] if gap.rank is not None else None
    return replace(gap, rank=next(iter(ranks), None)) if ranks is not None else gap


def _text(text: str, standing: Standing) -> str:
    """Every `rank 3` and `ranks 0,2-3` as those that they stand for."""

    def whole(match: re.Match[str]) -> str:
        ranks = standing.all_of(RankSet.parse(match[2]))
        if not ranks:
            return match[0]
        word = match[1] if len(ranks) == 1 or match[1].endswith("s") else f"{match[1]}s"
        return f"{word} {ranks}"

    return _RANKS.sub(whole, text)
