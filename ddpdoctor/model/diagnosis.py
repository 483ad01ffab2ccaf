"""The conclusions of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ddpdoctor.model.finding import Finding
from ddpdoctor.model.ranks import RankSet


class Confidence(Enum):
    #: all neighbouring causes are excluded by evidence
    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Retry(Enum):
    """Whether running the same job again, unchanged, would help."""

    #: the program or its data decide it
    FAILS_AGAIN = "fails again"
    #: timing decides it, or something outside the program that happened once
    MAY_PASS = "may pass"
    #: a host, device, interface, driver or file system decides it
    PASSES_ELSEWHERE = "passes elsewhere"
    UNKNOWN = "unknown"


class Deadlock(Enum):
    PROVEN = "proven"
    SUSPECTED = "suspected"
    NO = "no"


class Outcome(Enum):
    HEALTHY = "healthy"
    #: a rank is still working and the others wait for it
    SLOW = "slow"
    HANG = "hang"
    #: all ranks move, and some have shifted against the others; a warning
    DESYNC = "desync"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Location:
    """Where ranks are or were. `source` is the text of that line, "" if it could not be read."""

    ranks: RankSet
    file: str
    line: int
    function: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One cause: which ranks, where, why, and what to change."""

    code: str
    name: str
    confidence: Confidence
    culprit_confidence: Confidence
    culprits: RankSet
    waiting: RankSet
    #: one line that names rank, operation and place
    summary: str
    why: str
    fix: str
    #: the most relevant first: the line to look at
    locations: tuple[Location, ...]
    #: the facts that the conclusion rests on, one sentence each
    evidence: tuple[str, ...] = ()
    #: lint findings at these lines
    lint: tuple[Finding, ...] = ()
    #: the culprit's own traceback if it raised, as Python prints it
    traceback: str = ""
    #: reports before /2 did not say it
    retry: Retry = Retry.UNKNOWN
