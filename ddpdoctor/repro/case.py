"""Pure. One fixture: a program that goes wrong for a known reason, and the verdict that it must get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.ranks import RankSet


@dataclass(frozen=True, slots=True)
class Harm:
    """What shows a failure that does not hang: a number that the program itself prints as `<measure>: <number>`.

    Bounds are inclusive.
    """

    measure: str
    #: what broken.py comes to
    harmed: tuple[int, int]
    #: what fixed.py comes to
    cured: tuple[int, int]
    #: broken.py also ends with an error
    fails: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One fixture and what is expected of its broken program."""

    name: str
    code: str
    summary: str
    folder: Path
    #: default world size
    ranks: int
    #: who is to blame at the default world size; empty where nobody can be named
    culprits: RankSet
    #: line of `locate` in broken.py
    line: int
    deadlock: Deadlock
    #: the same fault ends in either of two ways, of which one can be proven
    sometimes_proven: bool
    #: what `watch` must find; HEALTHY where the program does harm without stopping
    outcome: Outcome
    launcher: str
    #: lint rule that finds it before launch, "" for none
    lint: str
    #: seconds for `--stall-after`, None where the deadlock is provable and needs no patience
    stall_after: int | None
    #: "", "gpu" or "multi-node"
    needs: str
    #: the longest that a run may take
    seconds: int
    #: set where the program is run plainly, and its own numbers show what is wrong
    harm: Harm | None = None
    #: other numbers of ranks at which it goes wrong in the same way, and who is to blame there
    elsewhere: Mapping[int, RankSet] = field(default_factory=dict)
    #: what it runs on, "gloo" (the CPU) and "nccl" (GPUs); what is expected of it is what the first of them gives
    backends: tuple[str, ...] = ("gloo",)
    #: why it has one backend only, "" where it has both
    only_because: str = ""
    #: checks that may come out otherwise on NCCL, by their names; they are not made there
    nccl_differs: tuple[str, ...] = ()
    #: the file with `line`, relative to the folder
    file: str = "broken.py"

    def blames(self, ranks: int) -> RankSet | None:
        """Who is to blame with so many ranks, None where that is not known."""
        return self.culprits if ranks == self.ranks else self.elsewhere.get(ranks)

    def allows(self, found: Deadlock) -> bool:
        """Is this what may be said of its deadlock?"""
        return found is self.deadlock or (self.sometimes_proven and found is Deadlock.PROVEN)

    @property
    def ends_as(self) -> str:
        """How broken.py ends, in a word."""
        return "harm" if self.harm else self.outcome.value

    @property
    def broken(self) -> Path:
        return self.folder / "broken.py"

    @property
    def located(self) -> Path:
        """The file that holds the line."""
        return self.folder / self.file

    @property
    def fixed(self) -> Path:
        return self.folder / "fixed.py"
