"""What a condition in a program depends on, as far as it can differ between ranks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DependsOn(Enum):
    """Where a value comes from, as far as it can differ between ranks; the first ones say more than the last."""

    RANK = "the rank"
    SIGNAL = "a signal"
    CLOCK = "the clock"
    RANDOM = "random numbers"
    FILES = "the file system"
    #: batches, losses, shards
    RANK_DATA = "this rank's data"
    UNKNOWN = "unknown"
    #: constants, what every rank is given alike, what a collective gave
    UNIFORM = "equal on all ranks"


@dataclass(frozen=True, slots=True)
class Dependence:
    """What a condition depends on."""

    #: the one that says most
    on: DependsOn
    #: in every way in which the program comes to the condition
    ever: frozenset[DependsOn]
    #: where it depends on the rank: whether it holds on each rank of a simulated job, None where that is not known
    ranks: tuple[bool | None, ...] = ()
    #: it is the rank on the node
    local: bool = False
    #: where a signal's handler sets it: what, and which handler
    flag: str = ""
    handler: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition under which a line runs."""

    file: str
    #: its statement's lines, both included
    line: int
    end_line: int
    #: as it is written; a decorator with its `@`
    text: str
    #: whether the line runs where it holds, or where it does not
    side: bool
    dependence: Dependence
