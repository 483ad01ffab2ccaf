"""A diagnosis rule as the engine runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class RegisteredRule:
    """A rule with its generator of diagnoses and its documentation."""

    rule: Rule
    diagnose: Callable[[Facts], Iterator[Diagnosis]]
    documentation: str
