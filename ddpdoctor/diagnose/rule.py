"""What a diagnosis rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Diagnosis
from ddpdoctor.model.evidence import Source


@dataclass(frozen=True, slots=True)
class Rule:
    """Metadata of one rule; its module's docstring is what `ddpdoctor explain` prints."""

    code: str
    #: kebab-case, stable, never reused
    name: str
    #: sources without which the rule cannot be considered
    requires: frozenset[Source]
    #: neighbouring causes that its evidence must exclude before it may say `certain`
    excludes: tuple[str, ...] = ()
    #: lint rules that find the same bug before launch
    lint: tuple[str, ...] = ()
    #: folder under fixtures/ that shows it
    fixture: str = ""
    #: of two diagnoses with equal confidence the more specific one is shown first
    specificity: int = 0


@dataclass(frozen=True, slots=True)
class RegisteredRule:
    """A rule with its generator of diagnoses and its documentation."""

    rule: Rule
    diagnose: Callable[[Facts], Iterator[Diagnosis]]
    documentation: str
