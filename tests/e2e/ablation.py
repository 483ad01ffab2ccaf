"""Removes evidence from a capture, as if it could not be collected, and diagnoses the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, PartKind
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Rank, Role
from ddpdoctor.model.report import Report

KINDS = {
    Source.PAGES: PartKind.PAGE,
    Source.RECORDER: PartKind.RECORDER,
    Source.STACKS: PartKind.STACKS,
    Source.PROCESSES: PartKind.PROCESS,
    Source.FAULTHANDLER: PartKind.FATAL,
}
#: what is read of a rank's children, too
OF_CHILDREN = frozenset({Source.STACKS, Source.PROCESSES})
REASON = "taken away"


def without(capture: Capture, sources: frozenset[Source], ranks: frozenset[Rank] | None = None) -> Capture:
    """The capture of a watcher that could not see `sources`, of `ranks` only if given; each loss is a Gap."""
    samples = []
    for sample in capture.samples:
        blind = [w for w in sample.workers if w.role is Role.RANK and (ranks is None or w.rank in ranks)]
        pids = {w.pid for w in blind}
        children = [w for w in sample.workers if w.parent in pids]
        pids |= {w.pid for w in children}
        kinds = {KINDS[source] for source in sources if source in KINDS}
        parts = tuple(part for part in sample.parts if part.kind not in kinds or part.pid not in pids)
        lost = [(source, w) for source in sorted(sources, key=str) for w in blind]
        lost += [(source, w) for source in sorted(sources & OF_CHILDREN, key=str) for w in children]
        gaps = tuple(Gap(source, w.rank, REASON) for source, w in lost)
        samples.append(replace(sample, parts=parts, gaps=(*sample.gaps, *gaps)))
    exits = () if Source.EXITS in sources else capture.exits
    code = {} if Source.CODE in sources else capture.code
    return replace(capture, samples=tuple(samples), exits=exits, code=code)


def ablations(capture: Capture) -> Iterator[tuple[str, Report]]:
    """Every source taken away from all ranks, from one rank, and every two from all."""
    ranks = sorted({w.rank for w in capture.samples[-1].workers if w.rank is not None})
    everything = [*KINDS, Source.EXITS, Source.CODE]
    for source in everything:
        yield source.value, examine(assemble(without(capture, frozenset({source}))))
        for rank in ranks:
            left = without(capture, frozenset({source}), frozenset({rank}))
            yield f"{source.value} of rank {rank}", examine(assemble(left))
    for two in combinations(everything, 2):
        yield " and ".join(source.value for source in two), examine(assemble(without(capture, frozenset(two))))


def wrongly_sure(capture: Capture, code: str, culprits: tuple[int, ...], deadlock: Deadlock) -> list[str]:
    """Every ablation whose verdict is sure of what is not so, or is weaker than the whole and does not say why."""
    found: list[str] = []
    whole = _strength(examine(assemble(capture)))
    for lost, report in ablations(capture):
        told = [(d.code, d.culprits.members, d.confidence.value, d.culprit_confidence.value) for d in report.diagnoses]
        if any(d.confidence is Confidence.CERTAIN and d.code != code for d in report.diagnoses):
            found.append(f"without {lost}: {told}")
        sure_of = [d.culprits.members for d in report.diagnoses if d.culprit_confidence is Confidence.CERTAIN]
        if any(tuple(members) != culprits for members in sure_of):
            found.append(f"without {lost}: culprits of {told}")
        if report.deadlock is Deadlock.PROVEN and deadlock is not Deadlock.PROVEN:
            found.append(f"without {lost}: proven, {told}")
        if _strength(report) != whole and not any(gap.reason == REASON for gap in report.gaps):
            found.append(f"without {lost}: {told}, and no gap says so")
    return found


def _strength(report: Report) -> object:
    return report.outcome, report.deadlock, [(d.code, d.culprits, d.confidence) for d in report.diagnoses[:1]]
