"""Figures: what a benchmark has measured with its spread, and the file that keeps them (`python -m benchmarks`)."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any

from benchmarks import measured
from benchmarks.paired import interval, median


class Unit(Enum):
    """What a value counts, and how it is written."""

    TIMES = "times"
    SHARE = "of a core"
    SECONDS = "s"
    MICROSECONDS = "µs"
    MEGABYTES = "MB"

    def write(self, value: float) -> str:
        """A number without its unit, but for a share, which is written in percent."""
        if self is Unit.SHARE:
            return f"{value:.3%}".replace("%", " %")
        if self is Unit.MEGABYTES or abs(value) >= 100:
            return f"{value:.0f}"
        if self is Unit.TIMES:
            return f"{value:.4f}" if 0.5 < value < 2 else f"{value:.2g}" if value < 1 else f"{value:.1f}"
        return f"{value:.2f}"


class Held(Enum):
    """Whether a limit was held: by the whole spread, by nothing of it, or by a part of it."""

    YES = "held"
    NO = "MISSED"
    OPEN = "not decided: the spread contains the limit"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value: a median, and the interval or the range around it."""

    what: str
    value: float
    unit: Unit
    low: float
    high: float
    #: what low and high are: INTERVAL or RANGE
    spread: str
    #: how often it was measured, in words
    repetitions: str
    #: the most that is allowed
    limit: float | None = None

    @property
    def held(self) -> Held | None:
        """None without a limit."""
        if self.limit is None:
            return None
        return Held.YES if self.high <= self.limit else Held.NO if self.low > self.limit else Held.OPEN

    def __str__(self) -> str:
        limit = "" if self.held is None else f"; limit {self.unit.write(self.limit or 0.0)}: {self.held.value}"
        return f"{self.what}: {self.measured}{', ' * bool(self.around)}{self.around} ({self.repetitions}){limit}"

    @property
    def measured(self) -> str:
        return f"{self.unit.write(self.value)} {self.unit.value}"

    @property
    def around(self) -> str:
        """The spread in words, "" of a single run."""
        if self.low == self.high:
            return ""
        return f"{self.unit.write(self.low)} to {self.unit.write(self.high)} ({self.spread})"


INTERVAL, RANGE = "95 %", "range"


def paired(
    what: str,
    launches: Sequence[Sequence[float]],
    unit: Unit = Unit.TIMES,
    limit: float | None = None,
    *,
    each: str = "pairs",
) -> Figure:
    """Of many values (ratios or differences of pairs, windows of time), of one launch or several: the median and its
    bootstrap interval."""
    low, high = interval(launches)
    values = sum(map(len, launches))
    each = each if values > 1 else each.replace("pairs", "pair")
    said = f"{values} {each}" if len(launches) == 1 else f"{len(launches)} launches, {values} {each}"
    return Figure(what, median(launches), unit, low, high, INTERVAL, said, limit)


def repeated(what: str, values: Sequence[float], unit: Unit, limit: float | None = None) -> Figure:
    """Of a few values: the median and the range."""
    runs = f"{len(values)} run{'s' * (len(values) > 1)}"
    return Figure(what, statistics.median(values), unit, min(values), max(values), RANGE, runs, limit)


@dataclass(frozen=True, slots=True)
class Origin:
    """When, of what and where figures were made."""

    commit: str
    #: a hash of the folders of the package that the benchmark measures
    digest: str
    #: the day, UTC
    date: str
    #: load average of one minute when the benchmark began
    load: float
    machine: str
    versions: str

    @classmethod
    def now(cls, digest: str) -> Origin:
        return cls(
            measured.commit(),
            digest,
            datetime.now(timezone.utc).date().isoformat(),
            round(os.getloadavg()[0], 1),
            machine(),
            f"Python {platform.python_version()}, torch {importlib.metadata.version('torch')}",
        )


@functools.cache
def machine() -> str:
    """The kernel's name of the processor, and the number of its cores that this process may use."""
    told = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    names = [line.partition(":")[2].strip() for line in told.splitlines() if line.startswith("Model name:")]
    return f"{len(os.sched_getaffinity(0))} cores of {(names or [platform.machine()])[0]}"


@dataclass(frozen=True, slots=True)
class Row:
    """A figure with the benchmark that made it and its origin: a line of the file."""

    benchmark: str
    figure: Figure
    origin: Origin


def read(file: Path) -> list[Row]:
    """All rows, the oldest first; none if there is no file."""
    if not file.exists():
        return []
    return [_row(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines() if line]


def _row(told: dict[str, Any]) -> Row:
    figure = {**told["figure"], "unit": Unit(told["figure"]["unit"])}
    return Row(told["benchmark"], Figure(**figure), Origin(**told["origin"]))


def append(file: Path, rows: Iterable[Row]) -> None:
    """Add rows; they are in the file when this returns."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(dataclasses.asdict(row), default=lambda one: one.value, ensure_ascii=False) for row in rows]
    with file.open("a", encoding="utf-8") as stream:
        stream.write("".join(f"{line}\n" for line in lines))


def newest(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Of each benchmark the rows of its last run."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        before = found.get(row.benchmark, [])
        same = before and before[0].origin == row.origin and row.figure.what not in {one.figure.what for one in before}
        found[row.benchmark] = [*before, row] if same else [row]
    return found


def tell(found: Iterable[Figure]) -> int:
    """Print figures; 1 if a limit is missed, else 0: the exit status of a benchmark that runs alone."""
    missed = 0
    for figure in found:
        print(figure, flush=True)
        missed |= figure.held is Held.NO
    return int(missed)


def count(default: int) -> int:
    """The first number on the command line of a benchmark that runs alone."""
    return next((int(word) for word in sys.argv[1:] if word.isdecimal()), default)
