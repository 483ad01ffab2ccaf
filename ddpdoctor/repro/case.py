"""Pure. A fixture: a program that fails for a known reason, and the expected verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.ranks import RankSet


@dataclass(frozen=True, slots=True)
class Harm:
    """How a failure without a hang shows: a number that the program itself prints as `<measure>: <number>`.

    Bounds are inclusive.
    """

    measure: str
    #: the number that broken.py prints
    harmed: tuple[int, int]
    #: the number that fixed.py prints
    cured: tuple[int, int]
    #: broken.py also exits with an error
    fails: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A fixture and what is expected of its broken program."""

    name: str
    code: str
    summary: str
    folder: Path
    #: default world size
    ranks: int
    #: the culprits at the default world size; empty if nobody can be named
    culprits: RankSet
    #: line in broken.py that contains the text of `locate`
    line: int
    deadlock: Deadlock
    #: the fault ends in either of two ways, of which one can be proven
    sometimes_proven: bool
    #: what `watch` must report; HEALTHY if the program does harm without stopping
    outcome: Outcome
    launcher: str
    #: lint rule that finds it before the launch, "" for none
    lint: str
    #: seconds for `--stall-after`, None if the deadlock is provable, which needs no waiting
    stall_after: int | None
    #: "", "gpu" or "multi-node"
    needs: str
    #: the longest that a run may take, in seconds
    seconds: int
    #: packages that it imports besides torch, by the name that it imports; all of them are in the extra `frameworks`
    packages: tuple[str, ...] = ()
    #: set if the program is run without `watch`, and its own numbers show the fault
    harm: Harm | None = None
    #: other numbers of ranks with the same fault, and the culprits there
    elsewhere: Mapping[int, RankSet] = field(default_factory=dict)
    #: backends it runs on, "gloo" (the CPU) and "nccl" (GPUs); the expectations hold for the first
    backends: tuple[str, ...] = ("gloo",)
    #: why it has one backend only, "" if it has both
    only_because: str = ""
    #: names of checks that may differ on NCCL and are skipped there
    nccl_differs: tuple[str, ...] = ()
    #: the file with `line`, relative to the folder
    file: str = "broken.py"

    def culprits_at(self, ranks: int) -> RankSet | None:
        """The culprits with this number of ranks, None if not known."""
        return self.culprits if ranks == self.ranks else self.elsewhere.get(ranks)

    def allows_deadlock(self, found: Deadlock) -> bool:
        """Whether this is an expected judgement of its deadlock."""
        return found is self.deadlock or (self.sometimes_proven and found is Deadlock.PROVEN)

    @property
    def needed(self) -> tuple[str, ...]:
        """What it needs besides torch, in words; empty for most."""
        machine = {"gpu": "a GPU", "multi-node": "several nodes"}
        return (*self.packages, *filter(None, [machine.get(self.needs)]))

    @property
    def expected_ending(self) -> str:
        """How broken.py ends, in a word."""
        return "harm" if self.harm else self.outcome.value

    @property
    def broken(self) -> Path:
        return self.folder / "broken.py"

    @property
    def located(self) -> Path:
        """The file that contains the line."""
        return self.folder / self.file

    @property
    def fixed(self) -> Path:
        return self.folder / "fixed.py"
