"""The classifier: every cause has an example, and shows nothing of the neighbours that its rule says to exclude."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.divergence.causes import DECIDED_BY, Cause, classified
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.divergence.examples import EXAMPLES, ODD

BY_CODE = {cause.value.code: cause for cause in Cause}
#: (cause, neighbour that its rule's `excludes` names), of neighbours that are causes of divergences, too
EXCLUDED = [(cause, BY_CODE[code]) for cause in Cause for code in cause.value.excludes if code in BY_CODE]
#: the neighbour's own test is wider, and only gives way since the cause stands before it in the table
GIVES_WAY = {
    (Cause.SHARDED_STATE, Cause.RANK_CONDITION),
    (Cause.GROUP_CREATION, Cause.RANK_CONDITION),
    (Cause.SHARDED_MODULE, Cause.LOCAL_DECISION),
    (Cause.BARRIER, Cause.RANK_CONDITION),
    (Cause.SIGNAL, Cause.LOCAL_DECISION),
}


def _code(cause: Cause) -> str:
    return cause.value.code


def _without_source(evidence: Evidence) -> Evidence:
    return replace(evidence, code={})


def _without_stacks(evidence: Evidence) -> Evidence:
    return replace(evidence, ranks=tuple(replace(rank, stacks=None) for rank in evidence.ranks))


def _without_recorders(evidence: Evidence) -> Evidence:
    return replace(evidence, ranks=tuple(replace(rank, recorder=None) for rank in evidence.ranks))


LESS = {"source": _without_source, "stacks": _without_stacks, "recorders": _without_recorders}


def test_the_table_decides_every_cause() -> None:
    assert {cause for cause, _ in DECIDED_BY} == set(Cause) == set(EXAMPLES)


@pytest.mark.parametrize("cause", Cause, ids=_code)
def test_a_divergence_has_its_cause_and_the_rule_words_it(cause: Cause) -> None:
    facts = digest(EXAMPLES[cause])
    assert [found for _, found in classified(facts)] == [cause]
    report = examine(EXAMPLES[cause])
    assert [diagnosis.code for diagnosis in report.diagnoses] == [cause.value.code]
    assert report.diagnoses[0].culprits.members in ((ODD,), ())


@pytest.mark.parametrize(("cause", "neighbour"), EXCLUDED, ids=lambda cause: _code(cause))
def test_an_excluded_neighbour_does_not_hold(cause: Cause, neighbour: Cause) -> None:
    facts = digest(EXAMPLES[cause])
    ((divergence, _),) = classified(facts)
    holds = any(test(facts, divergence) for named, test in DECIDED_BY if named is neighbour)
    assert holds == ((cause, neighbour) in GIVES_WAY)
    order = [named for named, _ in DECIDED_BY]
    assert not holds or order.index(cause) < order.index(neighbour)


@pytest.mark.parametrize("less", LESS)
@pytest.mark.parametrize(("cause", "neighbour"), EXCLUDED, ids=lambda cause: _code(cause))
def test_with_less_evidence_no_excluded_neighbour_becomes_certain(cause: Cause, neighbour: Cause, less: str) -> None:
    report = examine(LESS[less](EXAMPLES[cause]))
    certain = {diagnosis.code for diagnosis in report.diagnoses if diagnosis.confidence is Confidence.CERTAIN}
    assert neighbour.value.code not in certain
