"""The pure core: from evidence to report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ddpdoctor.diagnose import conditions, wording
from ddpdoctor.diagnose.codes import SHOWN_FIRST
from ddpdoctor.diagnose.course import with_course
from ddpdoctor.diagnose.digest.outcome import deadlock
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts, digest
from ddpdoctor.diagnose.likeliest import with_likeliest
from ddpdoctor.diagnose.offline import without_pages
from ddpdoctor.diagnose.registry import FALLBACK, RULES
from ddpdoctor.diagnose.rule import RegisteredRule
from ddpdoctor.merge.frontiers import merge_frontiers
from ddpdoctor.merge.stacks import merge_stacks, stack_ends
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.evidence import Evidence, Source
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus, Report, Timeline

_BY_CODE = {registered.rule.code: registered for registered in RULES}
_PLACE = {rule: place for place, rule in enumerate(SHOWN_FIRST)}
_ORDER = {Confidence.CERTAIN: 0, Confidence.LIKELY: 1, Confidence.POSSIBLE: 2}


def examine(evidence: Evidence) -> Report:
    """Diagnose what holds the job up, which ranks cause it, and how sure that is. Incomplete evidence never raises."""
    facts = digest(evidence)
    outcome = facts.outcome
    apart = _apart(facts)
    diagnoses, not_considered = _diagnose(_without(facts, apart) if apart else facts)
    stacks = merge_stacks({seen.rank: facts.stack(seen.rank)[::-1] for seen in evidence.ranks})
    named = {location.file for diagnosis in diagnoses for location in diagnosis.locations}
    report = Report(
        outcome=outcome,
        deadlock=deadlock(evidence, outcome, facts.graph),
        diagnoses=diagnoses,
        ranks=_rank_statuses(facts, stack_ends(stacks)),
        groups=merge_frontiers(evidence),
        stacks=stacks,
        gaps=(*evidence.gaps, *conditions.gaps(facts)),
        timeline=_timeline(evidence),
        command=evidence.command,
        versions=evidence.versions,
        environment=evidence.environment,
        not_considered=not_considered,
        code={path: text for path, text in evidence.code.items() if path in named},
        notes=_notes(facts),
    )
    return with_likeliest(with_course(report, evidence.course, evidence.code), facts)


def _apart(facts: Facts) -> RankSet:
    """The ranks that moved between the samples, or had come to a good end, if others are proven to be deadlocked and do
    not wait for them: only a part of the job is."""
    if not facts.graph.stuck or facts.outcome is not Outcome.HANG:
        return RankSet()
    moved = [rank.rank for rank in facts.evidence.ranks if rank.motion and rank.motion.page_moved is Observed.YES]
    ended = [rank.rank for rank in facts.evidence.ranks if rank.exit and rank.exit.status == 0]
    return RankSet.of((*moved, *ended)) - facts.graph.stuck - facts.graph.targets(facts.graph.stuck)


def _without(facts: Facts, ranks: RankSet) -> Facts:
    """The same look without these ranks: what they do is another program's history to those of the part."""
    kept = tuple(seen for seen in facts.evidence.ranks if seen.rank not in ranks)
    return digest(replace(facts.evidence, ranks=kept))


def _diagnose(facts: Facts) -> tuple[tuple[Diagnosis, ...], Mapping[str, str]]:
    """What all rules find, the surest first, and the codes of those that lack a source."""
    if facts.outcome is Outcome.HEALTHY:
        return (), {}
    missing = _missing_sources(facts.evidence)
    found, not_considered = _by_rules(facts, missing)
    offline = without_pages.diagnoses(facts, missing)
    named = [diagnosis for diagnosis in offline if diagnosis.code != FALLBACK.rule.code]
    found.extend((diagnosis, _BY_CODE[diagnosis.code]) for diagnosis in named)
    # the recorders' diagnoses without pages concern the same ranks, and already say that the evidence does not decide
    if not named and not _has_sure_diagnosis(found):
        found.extend((diagnosis, FALLBACK) for diagnosis in offline or FALLBACK.diagnose(facts))
    ranked = sorted(found, key=lambda pair: (_ORDER[pair[0].confidence], _PLACE[pair[1].rule]))
    return tuple(diagnosis for diagnosis, _ in ranked), not_considered


def _by_rules(
    facts: Facts, missing: frozenset[Source]
) -> tuple[list[tuple[Diagnosis, RegisteredRule]], dict[str, str]]:
    """What the rules find, the fallback aside; code -> reason for those whose sources are missing."""
    found: list[tuple[Diagnosis, RegisteredRule]] = []
    not_considered: dict[str, str] = {}
    unseen = facts.evidence.unseen()
    for registered in RULES[:-1]:
        lacking = sorted(source.value for source in registered.rule.requires if source in missing)
        if lacking:
            not_considered[registered.rule.code] = f"no {', '.join(lacking)}"
        elif registered.rule.compares and unseen:
            not_considered[registered.rule.code] = f"{wording.ranks(unseen)} not seen"
        else:
            found.extend((diagnosis, registered) for diagnosis in registered.diagnose(facts))
    return found, not_considered


def _has_sure_diagnosis(found: Sequence[tuple[Diagnosis, RegisteredRule]]) -> bool:
    """Whether some diagnosis is at least fairly sure."""
    return any(diagnosis.confidence is not Confidence.POSSIBLE for diagnosis, _ in found)


def _missing_sources(evidence: Evidence) -> frozenset[Source]:
    """Sources that gave no evidence at all."""
    ranks = evidence.ranks
    present = {
        Source.PAGES: any(rank.page for rank in ranks),
        Source.RECORDER: any(rank.recorder for rank in ranks),
        Source.STACKS: any(rank.stacks for rank in ranks),
        Source.PROCESSES: any(rank.process for rank in ranks),
        Source.CODE: bool(evidence.code),
        # A running job has no exit records; the source is missing only if a gap says so.
        Source.EXITS: not any(gap.source is Source.EXITS for gap in evidence.gaps),
        Source.FAULTHANDLER: True,
    }
    return frozenset(source for source, there in present.items() if not there)


def _rank_statuses(facts: Facts, ends: Mapping[Rank, int]) -> tuple[RankStatus, ...]:
    names = {Activity.STILL: "waiting", Activity.UNKNOWN: "unclear"}
    statuses = []
    for rank, state in sorted(facts.states.items()):
        location = facts.location([rank], state.site) if state.site else None
        word = names.get(state.activity, state.activity.value)
        host = facts.evidence.hosts.get(rank, "")
        statuses.append(RankStatus(rank, word, state.label, location, ends.get(rank, -1), host))
    return tuple(statuses)


def _timeline(evidence: Evidence) -> Timeline:
    timing = evidence.timing
    if timing.collected <= 0.0 or timing.collected == timing.started:
        return Timeline(None, None, None)  # files that a job left do not say when it was started
    # without a page no progress is recorded, and the watcher's clock still shows the start
    moved = timing.last_progress - timing.started if timing.last_progress > timing.started else None
    return Timeline(moved, timing.detected - timing.started, timing.collected - timing.started)


def _notes(facts: Facts) -> tuple[str, ...]:
    notes = list(facts.evidence.notes)
    healthy = facts.outcome is Outcome.HEALTHY
    if healthy and facts.doing(Activity.WORKING):
        notes.append("no rank waits for another that makes no progress")
    resumed = [
        rank.rank
        for rank in facts.evidence.ranks
        if rank.motion and rank.motion.page_moved is Observed.YES and rank.page
    ]
    if going_on := RankSet.of(rank for rank in _apart(facts) if rank in resumed):
        plural = len(going_on) > 1
        notes.append(f"a part of the job: rank{'s' * plural} {going_on} go{'es' * (not plural)} on")
    elif resumed and not healthy:
        notes.append(f"made progress while the samples were taken: ranks {RankSet.of(resumed)}")
    changed = sorted(path for path, text in facts.evidence.code.items() if text.changed)
    notes.extend(
        f"{path} was changed after the job started: its lines may not be the lines that run" for path in changed
    )
    return tuple(notes)
