"""Pure. Threads that have changed places on a group, as a report: whose calls, since when, and what will come of it.

Never more than a warning: operations and sizes agree, so nothing is stuck. Nobody determines the order, so a rank is
named only where it is always the one whose order differs from that of most.
"""

from __future__ import annotations

from collections import defaultdict

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import THREADS_SHARE_GROUP
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Location
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.observe.desync import CONFIRMED, GROUP_OF_ITS_OWN, Circumstances, as_report, located
from ddpdoctor.observe.stream import BACKWARD, Names
from ddpdoctor.observe.thread_orders import Crossing, Turn

#: what `Desync.counted` says of it: nothing is ahead of anything by a number
ORDER = "order"


def report(crossing: Crossing, names: Names, seen: Circumstances) -> Report:
    """The warning."""
    group = names.known[crossing.group]
    members = RankSet(group.members)
    sides = _sides(crossing)
    locations = (located(ranks, names.sites[turn.place][1], seen.code) for turn, ranks in sides)
    shown = tuple(location for location in locations if location is not None)
    desync = Desync(
        culprits=RankSet.of(crossing.odd),
        members=members,
        group=group.label(1 + max(group.members)),
        shift=0,
        seen_at=shown[0] if shown else None,
        visit=crossing.number,
        since=crossing.since - seen.started,
        parting=" while ".join(f"{wording.ranks(ranks)} {_does(turn, names)}" for turn, ranks in sides),
        location=shown[0] if shown else None,
        code=THREADS_SHARE_GROUP.code,
        counted=ORDER,
    )
    return as_report(desync, _diagnosis(crossing, desync, shown, confirmed=seen.confirmed), seen)


def _sides(crossing: Crossing) -> list[tuple[Turn, RankSet]]:
    """What was done at the number, and by which ranks; what another thread than the main one did comes first."""
    ranks: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for rank, turn in sorted(crossing.turns.items()):
        ranks[turn.role].append(rank)
    turns = {turn.role: turn for turn in crossing.turns.values()}
    ordered = sorted(ranks, key=lambda role: (role[1], ranks[role]))
    return [(turns[role], RankSet.of(ranks[role])) for role in ordered]


def _diagnosis(crossing: Crossing, desync: Desync, locations: tuple[Location, ...], *, confirmed: bool) -> Diagnosis:
    facts = [
        f"at {crossing.times} numbers of {desync.group} the ranks' collectives were those of different threads, the "
        f"first of them number {crossing.number}"
    ]
    if desync.culprits:
        facts.append(f"at each of them {wording.ranks(desync.culprits)} differed from the others, which did the same")
    if confirmed:
        facts.append(CONFIRMED)
    return diagnosis(
        THREADS_SHARE_GROUP,
        RankSet(),
        confidence=Confidence.LIKELY if confirmed else Confidence.POSSIBLE,
        blame=Confidence.POSSIBLE,
        culprits=desync.culprits,
        summary=f"two threads use {desync.group} in another order on other ranks: at its collective {desync.visit}, "
        f"{desync.since:.0f} s after the start, {desync.parting}",
        why=f"In {desync.group} collectives pair by their number, and nothing determines the order of two threads. "
        "What one thread reduces is added to what the other reduces elsewhere: values are mixed, and nothing fails as "
        "long as operations and sizes agree. Where they do not, or at the end, the ranks wait for each other for ever.",
        fix=GROUP_OF_ITS_OWN,
        locations=locations,
        evidence=tuple(facts),
    )


def _does(turn: Turn, names: Names) -> str:
    code, site, op = names.sites[turn.place]
    what = "reduced gradients" if code == BACKWARD else f"called {op}"
    where = f" at {site.file.rpartition('/')[2]}:{site.line}" if site else ""
    return f"{what}{where} in {'the main' if turn.main else 'another'} thread"
