"""Ratios of paired measurements: their median and its bootstrap interval."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence


def interval(launches: Sequence[Sequence[float]], rounds: int = 4000) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median of all ratios.

    Launches are drawn first and pairs within them second: two processes differ by their place in memory and on the
    cores, so pairs of one launch are not independent.
    """
    source = random.Random(0)
    medians = []
    for _ in range(rounds):
        drawn = [source.choices(pairs, k=len(pairs)) for pairs in source.choices(launches, k=len(launches))]
        medians.append(statistics.median(ratio for pairs in drawn for ratio in pairs))
    medians.sort()
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


def median(launches: Sequence[Sequence[float]]) -> float:
    return statistics.median(ratio for pairs in launches for ratio in pairs)
