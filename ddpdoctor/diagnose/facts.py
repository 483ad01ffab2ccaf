"""What the rules read: computed once from the evidence, so that a rule is a few comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ddpdoctor.diagnose import source
from ddpdoctor.diagnose.places import innermost_user, user_frames
from ddpdoctor.diagnose.waitgraph import WaitGraph, build
from ddpdoctor.diagnose.waits import Wait, find_waits
from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site


@dataclass(frozen=True, slots=True)
class Facts:
    """The evidence, its wait-for graph, and the questions that several rules ask."""

    evidence: Evidence
    graph: WaitGraph

    def wait(self, rank: Rank) -> Wait | None:
        """The wait of the rank's main thread, else its oldest."""
        state = self.graph.waits.get(rank)
        waits = state.waits if state else ()
        main = [w for w in waits if (r := self.evidence.rank(rank)) and w.thread == r.worker.pid]
        return next(iter((*main, *waits)), None)

    def place(self, rank: Rank) -> Site | None:
        """The user's line that the rank stands in."""
        seen = self.evidence.rank(rank)
        main = seen.stacks.main() if seen and seen.stacks else None
        from_stack = innermost_user(main.frames) if main else None
        wait = self.wait(rank)
        return from_stack or (wait.site if wait else None)

    def frames(self, rank: Rank) -> tuple[Site, ...]:
        """The user's frames of the rank's main thread, innermost first."""
        seen = self.evidence.rank(rank)
        main = seen.stacks.main() if seen and seen.stacks else None
        return user_frames(main.frames) if main else ()

    def location(self, ranks: Iterable[int], site: Site) -> Location:
        text = source.line_of(self.evidence.code, site.file, site.line)
        return Location(RankSet.of(ranks), site.file, site.line, site.function, text)

    def locations_of(self, ranks: Iterable[Rank]) -> tuple[Location, ...]:
        """Where these ranks stand, one Location per distinct place."""
        by_site: dict[Site, list[Rank]] = {}
        for rank in ranks:
            site = self.place(rank)
            if site is not None:
                by_site.setdefault(site, []).append(rank)
        return tuple(self.location(members, site) for site, members in by_site.items())

    def paged(self, ranks: Iterable[Rank]) -> tuple[RankEvidence, ...]:
        """Those of these ranks whose page was read."""
        found = (self.evidence.rank(r) for r in ranks)
        return tuple(r for r in found if r is not None and r.page is not None)

    def camps(self) -> tuple[RankSet, ...]:
        """Ranks that wait in the same operation at the same place, the largest camp first."""
        camps: dict[object, list[Rank]] = {}
        for rank in self.graph.waits:
            wait = self.wait(rank)
            if wait is not None:
                camps.setdefault((wait.group, wait.seq, wait.op, wait.site), []).append(rank)
        ordered = sorted(camps.values(), key=lambda members: (-len(members), members))
        return tuple(RankSet.of(members) for members in ordered)

    def last_site(self, rank: RankEvidence, kind: EventKind) -> Site | None:
        """Where the rank last did this, from its history."""
        if rank.page is None:
            return None
        return next((e.site for e in reversed(rank.page.events) if e.kind is kind and e.site is not None), None)

    def call_sites(self, rank: RankEvidence) -> dict[Site, int]:
        """How often the rank made a communication call at each place."""
        counts: dict[Site, int] = {}
        for event in rank.page.events if rank.page else ():
            if event.kind is EventKind.CALL and event.site is not None:
                counts[event.site] = counts.get(event.site, 0) + 1
        return counts


def establish(evidence: Evidence) -> Facts:
    """Compute the facts of one look at a job."""
    return Facts(evidence, build(evidence, find_waits(evidence)))
