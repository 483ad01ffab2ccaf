"""How far ranks have come in the loops that they are in, where nobody watched: their loops' counters, compared. Pure.

A counter is shown only in comparison: alone it says nothing, and equal ones say nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import Rank, RankSet


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter that is not the same on all ranks."""

    name: str
    file: str
    #: value -> the ranks that have it
    values: Mapping[int, RankSet]

    def in_words(self) -> str:
        """`step is 20 on rank 0 and 21 on ranks 1-3`."""
        parts = [f"{value} on {wording.ranks(ranks)}" for value, ranks in sorted(self.values.items())]
        return f"`{self.name}` is {' and '.join(parts)}"


def differing(facts: Facts) -> tuple[Counter, ...]:
    """The counters that all ranks with a stack have, in the same function, and that differ; the outermost first."""
    seen = [rank for rank in facts.evidence.ranks if rank.exit is None and rank.stacks is not None]
    if len(seen) < 2 or any(rank.page is not None for rank in seen):
        return ()
    counted = {rank.rank: dict(_counters(rank)) for rank in seen}
    common = [key for key in counted[seen[0].rank] if all(key in counters for counters in counted.values())]
    return tuple(
        Counter(name, file, values)
        for file, function, name in common
        if len(values := _by_value({rank: found[file, function, name] for rank, found in counted.items()})) > 1
    )


def _counters(rank: RankEvidence) -> Iterator[tuple[tuple[str, str, str], int]]:
    """(file, function, name) -> value for the user's frames of the rank's thread, the outermost frame first."""
    main = frames.main_thread(rank)
    for local in reversed(main.locals) if main else ():
        frame = main.frames[local.frame] if main and local.frame < len(main.frames) else None
        if frame is not None and local.value is not None and not frames.is_internal(frame.file):
            yield (frame.file, frame.function, local.name), local.value


def _by_value(values: Mapping[Rank, int]) -> dict[int, RankSet]:
    return {value: RankSet.of(rank for rank, one in values.items() if one == value) for value in set(values.values())}
