"""Ranks, sets of ranks, the processes that run them, and process groups."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NewType

from ddpdoctor.model.codec import Listed

Rank = NewType("Rank", int)
#: more than any job has: a larger number in a log, a page or a bundle is damage or the number of a process
MOST_RANKS = 1 << 17


@dataclass(frozen=True, slots=True)
class RankSet(Listed):
    """An ordered set of ranks, written in the usual notation: `0-2,4-7`."""

    members: tuple[Rank, ...] = ()

    @classmethod
    def of(cls, ranks: Iterable[int]) -> RankSet:
        return cls(tuple(Rank(r) for r in sorted(set(ranks))))

    @classmethod
    def parse(cls, text: str) -> RankSet:
        """Read `0-2,4`. Raises ValueError for anything else."""
        ranks: set[int] = set()
        for part in filter(None, text.split(",")):
            first, dash, last = part.partition("-")
            ranks.update(range(int(first), int(last if dash else first) + 1))
        return cls.of(ranks)

    def listed(self) -> list[int]:
        return list(self.members)

    def __str__(self) -> str:
        runs: list[str] = []
        for _, run in itertools.groupby(enumerate(self.members), lambda pair: pair[1] - pair[0]):
            ranks = [rank for _, rank in run]
            runs.append(str(ranks[0]) if len(ranks) == 1 else f"{ranks[0]}-{ranks[-1]}")
        return ",".join(runs)

    def __iter__(self) -> Iterator[Rank]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, rank: object) -> bool:
        if not isinstance(rank, int):
            return False
        place = bisect.bisect_left(self.members, rank)
        return place < len(self.members) and self.members[place] == rank

    def __or__(self, other: RankSet) -> RankSet:
        return RankSet.of((*self.members, *other.members))

    def __sub__(self, other: RankSet) -> RankSet:
        return RankSet.of(set(self.members) - set(other.members))


class Role(Enum):
    """The role of a process in the job."""

    RANK = "rank"
    LAUNCHER = "launcher"
    #: a child of a rank: DataLoader worker, compiler, shell
    CHILD = "child"


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of the job, as seen from outside. A pid is reused; (pid, started) is an identity."""

    pid: int
    #: seconds since the epoch, from /proc/<pid>/stat
    started: float
    role: Role
    rank: Rank | None = None
    local_rank: int | None = None
    world_size: int | None = None
    parent: int | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """A process group. Matched across ranks by name *and* members, because numeric ids are local to a process."""

    name: str
    members: tuple[Rank, ...]
    #: torch's group description, "" if there is none
    description: str = ""

    def label(self, world_size: int) -> str:
        """Its name for readers: "the default group" or "group 'dp' of ranks 0-1"."""
        if self.name == "0" or (self.description == "default_pg" and len(self.members) == world_size):
            return "the default group"
        named = self.description if self.description not in ("", "undefined") else self.name
        return f"group '{named}' of ranks {RankSet(self.members)}"
