"""docs/benchmarks.md: all figures of `python -m benchmarks` with their spread, limits and origins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.figures import Held, Origin, Row


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the page, with what its figures are and the benchmarks that make them."""

    title: str
    about: str
    benchmarks: tuple[str, ...]


PREAMBLE = """\
# Benchmarks

Made by `make bench`, which measures, adds to `benchmarks/results.jsonl` and writes this page; what is there already for
the present source is not measured again (`make bench ARGS=--fresh` does), and `ARGS=--page` only writes the page. Each
figure compares two things in one run, in turns, so that what else the machine does is in both; a time or a share that
stands alone says so by its unit. "95 %" is the bootstrap interval of the median, "range" the least and the most of a
few runs, "load" the load average when it began. A limit is *held* if the whole spread is within it and *MISSED* if all
of it is beyond.
"""
HEAD = (
    "| what | measured | spread | of | limit | load |",
    "|---|---|---|---|---|---|",
)


def page(sections: Sequence[Section], rows: Mapping[str, Sequence[Row]]) -> str:
    """The page. `rows`: of each benchmark those of its last run."""
    shown = [row for section in sections for name in section.benchmarks for row in rows.get(name, ())]
    parts = [PREAMBLE, _limits(shown), *(_section(section, rows) for section in sections)]
    return "\n".join(parts)


def _limits(rows: Iterable[Row]) -> str:
    """What the limits came to, before everything else."""
    limited = [row for row in rows if row.figure.held is not None]
    lines = [f"Of {len(limited)} limits {sum(row.figure.held is Held.YES for row in limited)} are held."]
    for held, words in ((Held.NO, "Missed"), (Held.OPEN, "Not decided, since the spread contains the limit")):
        found = [row for row in limited if row.figure.held is held]
        if found:
            lines += ["", f"{words}:", "", *(f"- {_in_words(one)}" for one in found)]
    return "\n".join(lines) + "\n"


def _in_words(row: Row) -> str:
    one = row.figure
    around = f"{', ' * bool(one.around)}{one.around}; limit {one.unit.write(one.limit or 0.0)}"
    return f"{row.benchmark}, {one.what}: {one.measured}{around}"


def _section(section: Section, rows: Mapping[str, Sequence[Row]]) -> str:
    found = [row for name in section.benchmarks for row in rows.get(name, ())]
    missing = [name for name in section.benchmarks if not rows.get(name)]
    lines = [f"## {section.title}", "", section.about, ""]
    if found:
        lines += [*HEAD, *(_line(row) for row in found), "", _origins([row.origin for row in found])]
    if missing:
        lines += ["", f"Not measured: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    one = row.figure
    limit = "" if one.held is None else f"{one.unit.write(one.limit or 0.0)}: {_short(one.held)}"
    return f"| {one.what} | {one.measured} | {one.around} | {one.repetitions} | {limit} | {row.origin.load} |"


def _short(held: Held) -> str:
    return "not decided" if held is Held.OPEN else held.value


def _origins(origins: Iterable[Origin]) -> str:
    """Where these figures come from, each origin once; the load has a column."""
    kinds = dict.fromkeys((one.date, one.commit, one.machine, one.versions) for one in origins)
    return " ".join(f"{date}, commit {commit}, {machine}, {versions}." for date, commit, machine, versions in kinds)
