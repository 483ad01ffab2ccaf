"""The contract of a diagnosis rule: one module with a docstring, a `RULE`, and a generator `diagnose(facts)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Location
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import RankSet


@dataclass(frozen=True, slots=True)
class Rule:
    """What a diagnosis is called, what it must see, and whom it must tell itself apart from."""

    code: str
    name: str
    #: without these it cannot be considered at all, and the report says so
    requires: frozenset[Source]
    #: codes with equal stacks, which evidence must exclude before the answer is certain
    neighbours: tuple[str, ...] = ()
    #: lint rules that see the same bug before the launch
    lint: tuple[str, ...] = ()
    #: the fixture that reproduces it
    fixture: str = ""

    def finding(
        self,
        *,
        culprits: Iterable[int],
        waiting: Iterable[int],
        confidence: Confidence,
        culprit_confidence: Confidence,
        summary: str,
        why: str,
        fix: str,
        locations: tuple[Location, ...],
        evidence: tuple[str, ...] = (),
    ) -> Diagnosis:
        """A diagnosis under this rule's code and name."""
        return Diagnosis(
            code=self.code,
            name=self.name,
            confidence=confidence,
            culprit_confidence=culprit_confidence,
            culprits=RankSet.of(culprits),
            waiting=RankSet.of(waiting),
            summary=summary,
            why=why,
            fix=fix,
            locations=locations,
            evidence=evidence,
        )


Check = Callable[[Facts], Iterator[Diagnosis]]


@dataclass(frozen=True, slots=True)
class Registered:
    """A rule with its generator and the docstring that explains it."""

    rule: Rule
    check: Check
    explanation: str
