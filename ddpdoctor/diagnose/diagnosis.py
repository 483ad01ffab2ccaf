"""Construction of a diagnosis: fills in what follows from its rule and from the waiting ranks."""

from __future__ import annotations

from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Location, Retry
from ddpdoctor.model.ranks import RankSet

_NOBODY = RankSet()


def diagnosis(
    rule: Rule,
    waiting: RankSet,
    *,
    confidence: Confidence,
    blame: Confidence | None = None,
    culprits: RankSet = _NOBODY,
    summary: str,
    why: str,
    fix: str,
    locations: tuple[Location, ...] = (),
    evidence: tuple[str, ...] = (),
    traceback: str = "",
    retry: Retry | None = None,
) -> Diagnosis:
    """A diagnosis of this rule.

    `waiting`: all ranks that wait; the culprits among them are not listed twice. `blame`: how sure it is who is to
    blame, where that differs from how sure it is what happened. `retry`: what running again would do in this
    case, where that differs from the rule's own.
    """
    return Diagnosis(
        code=rule.code,
        name=rule.name,
        confidence=confidence,
        culprit_confidence=confidence if blame is None else blame,
        culprits=culprits,
        waiting=waiting - culprits,
        summary=summary,
        why=why,
        fix=fix,
        locations=locations,
        evidence=evidence,
        traceback=traceback,
        retry=rule.retry if retry is None else retry,
    )
