"""What diagnoses say without support in the evidence; what is known of that, until it is mended."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.bundle import read
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Diagnosis
from ddpdoctor.model.evidence import Evidence
from tests.statements.check import Fault, check


@dataclass(frozen=True, slots=True)
class Known:
    """Faults of one kind: patterns for their diagnosis' code and for what is wrong, and the reason."""

    code: str
    wrong: str
    reason: str

    def covers(self, fault: Fault) -> bool:
        return bool(re.fullmatch(self.code, fault.code) and re.search(self.wrong, fault.wrong))


#: none at present
KNOWN: tuple[Known, ...] = ()


def unsupported(diagnoses: Iterable[Diagnosis], evidence: Evidence) -> list[Fault]:
    """What the diagnoses say without support in the evidence, and what is of no known form; without what is known."""
    faults = check(diagnoses, evidence).faults
    return [fault for fault in faults if not any(known.covers(fault) for known in KNOWN)]


def unsupported_in(bundle: Path) -> list[Fault]:
    """The same of the diagnoses that are made from a bundle."""
    evidence = assemble(read(bundle))
    return unsupported(examine(evidence).diagnoses, evidence)
