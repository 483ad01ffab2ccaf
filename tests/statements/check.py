"""Check every sentence of diagnoses against the evidence: `check(diagnoses, evidence)`.

The evidence is read without the engine's rules (tests/statements/witness.py). A sentence that names ranks, lines or
counts must be of a known form (tests/statements/forms.txt). Of several ways to read it those count that leave least of
it unchecked, and it is right if one of them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ddpdoctor.model.diagnosis import Diagnosis
from ddpdoctor.model.evidence import Evidence
from tests.statements import forms
from tests.statements.claims import Case
from tests.statements.grammar import Sentence, names, take_apart
from tests.statements.witness import Witness

NO_FORM = "of no known form"


@dataclass(frozen=True, slots=True)
class Fault:
    """A sentence that the evidence contradicts, or that has no form."""

    code: str
    #: summary, why, fix or evidence
    part: str
    text: str
    wrong: str

    def __str__(self) -> str:
        return f"{self.code} {self.part}: {self.text!r}: {self.wrong}"


@dataclass(frozen=True, slots=True)
class Result:
    """How many texts named something that was checked, and what is wrong with them."""

    checked: int
    faults: tuple[Fault, ...]


def check(diagnoses: Iterable[Diagnosis], evidence: Evidence) -> Result:
    """Check all that these diagnoses say, but for what a warning has said of histories that may have been overwritten
    since."""
    witness = Witness(evidence)
    warning = evidence.course.warning
    warned = {text for _, text in texts(warning)} if warning else set()
    warned |= {sign.said for sign in evidence.course.signs}
    checked, faults = 0, list[Fault]()
    for diagnosis in diagnoses:
        case = Case(witness, diagnosis)
        for part, text in texts(diagnosis):
            if text in warned:
                continue
            checked += names(text)
            faults.extend(Fault(diagnosis.code, part, text, wrong) for wrong in wrong_in(text, case))
    return Result(checked, tuple(faults))


def texts(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """The parts of a diagnosis that consist of sentences."""
    yield from (("summary", diagnosis.summary), ("why", diagnosis.why), ("fix", diagnosis.fix))
    yield from (("evidence", one) for one in diagnosis.evidence)


def wrong_in(text: str, case: Case) -> list[str]:
    """What is wrong with a text: of the reading that leaves least of it unchecked, and in which least is wrong."""
    if not names(text):
        return []
    readings = take_apart(text, forms.known())
    if not readings:
        return [NO_FORM]
    closest = min(map(_unchecked, readings))
    return min((list(_faults(one, case)) for one in readings if _unchecked(one) == closest), key=len)


def _unchecked(reading: list[Sentence]) -> int:
    """The length of what is free text."""
    return sum(sentence.unchecked for sentence in reading)


def _faults(reading: list[Sentence], case: Case) -> Iterator[str]:
    for sentence in reading:
        if sentence.form and sentence.match:
            yield from sentence.form.faults(sentence.match, case)
