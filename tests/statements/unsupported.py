"""What diagnoses say without support in the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.bundle import read
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Diagnosis
from ddpdoctor.model.evidence import Evidence
from tests.statements.check import Fault, check


def unsupported(diagnoses: Iterable[Diagnosis], evidence: Evidence) -> list[Fault]:
    """What the diagnoses say without support in the evidence, and what is of no known form."""
    return list(check(diagnoses, evidence).faults)


def unsupported_in(bundle: Path) -> list[Fault]:
    """The same of the diagnoses that are made from a bundle."""
    evidence = assemble(read(bundle))
    return unsupported(examine(evidence).diagnoses, evidence)
