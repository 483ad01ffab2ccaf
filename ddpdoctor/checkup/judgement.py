"""What a check says of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    OK = "ok"
    #: worth knowing; nothing needs to be done
    NOTE = "note"
    #: some jobs will suffer from it
    WARNING = "warning"
    #: a job will fail or hang, or cannot be diagnosed
    PROBLEM = "problem"
    #: could not be found out, or does not apply here
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    state: State
    #: one sentence with the figures
    said: str
    #: commands to run, or lines to add, exactly as they are
    remedy: tuple[str, ...] = ()


def ok(said: str) -> Judgement:
    return Judgement(State.OK, said)


def note(said: str, *remedy: str) -> Judgement:
    return Judgement(State.NOTE, said, remedy)


def warning(said: str, *remedy: str) -> Judgement:
    return Judgement(State.WARNING, said, remedy)


def problem(said: str, *remedy: str) -> Judgement:
    return Judgement(State.PROBLEM, said, remedy)


def unknown(said: str) -> Judgement:
    return Judgement(State.UNKNOWN, said)
