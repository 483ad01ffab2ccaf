"""Pure. What came of the jobs of `make compat`, and the page that it makes: docs/compatibility.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

#: what the page is about: each of these with each of PYTHONS, in the workflow once a week. The newest is the last.
TORCHES = ("2.4.1", "2.5.1", "2.7.1", "2.9.1", "2.11.0", "2.13.0", "2.15.0")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
#: name of the row of an environment that could not be made
NO_ENVIRONMENT = "environment"
#: what is missing where a deadlock could not be proven, and nothing else is
LESS = frozenset({"deadlock", "time"})

PREAMBLE = """\
# Versions of torch and of Python

Made by `make compat TORCH=x.y.z`, which installs that torch and this project into an environment of its own, runs
twelve jobs there on the CPU with gloo, and removes it again. Eleven are cases of [`repro`](repro.md) under
`ddpdoctor watch` or, for lint, alone; the last is one that nobody watched and that `ddpdoctor dump` looks at. What is
right (outcome, code, culprits, line, whether a deadlock is proven, and when it is told) is what the fixture says, the
same for every version. Nothing here is derived: what was not run says so.
"""
LEGEND = """\
*yes*: all as expected. *suspected*: right outcome, code, culprits and line, but the deadlock is not proven, so it is
told later: after so many seconds without progress. *late*: as expected, and later than promised. *untimed*: no
progress was seen from which the time could be taken. *not in it*: this torch has not what the program imports.
Everything else that differs is named.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one job with one torch and one Python. Times in seconds."""

    #: the release, such as "2.9.1", and the build, such as "2.9.1+cu128"
    torch: str
    build: str
    python: str
    kernel: str
    case: str
    outcome: str = ""
    code: str = ""
    confidence: str = ""
    culprits: tuple[int, ...] = ()
    deadlock: str = ""
    #: from the last progress of any rank to the report; None if no progress could be seen
    silence: float | None = None
    #: what is not as the fixture says: what -> (expected, found)
    missed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: anything was called certain, or proven, and is not so
    wrongly_certain: bool = False
    #: what could not be seen and why, as the report says it: "source: reason"
    gaps: tuple[str, ...] = ()
    #: why it could not be run, "" if it was
    lacks: str = ""
    engine: str = ""
    commit: str = ""

    @property
    def key(self) -> str:
        return f"{self.torch}/{self.python}/{self.case}"

    @property
    def is_miss(self) -> bool:
        return bool(self.missed) or self.wrongly_certain

    @property
    def is_unexplained(self) -> bool:
        """Worse than expected, and no gap says why. What else a machine does makes a report later, never wrong."""
        return self.wrongly_certain or (bool(set(self.missed) - {"time"}) and not self.gaps)

    def in_words(self) -> str:
        """One line on how it came out."""
        if self.lacks:
            return self.lacks
        differs = "; ".join(f"{what} {found} for {wanted}" for what, (wanted, found) in self.missed.items())
        said = f"{self.outcome or 'nothing'} {self.code} {self.confidence} {self.deadlock}".strip()
        return f"{said}: {('WRONGLY CERTAIN: ' if self.wrongly_certain else '') + (differs or 'as expected')}"


def page(rows: Iterable[Row], abouts: Mapping[str, str]) -> str:
    """The whole page; `abouts` has all jobs in order, and what each asks."""
    found = sorted(rows, key=lambda row: (_numbers(row.torch), _numbers(row.python)))
    made = [row for row in found if row.case != NO_ENVIRONMENT]
    lines = [
        PREAMBLE,
        *_jobs(made, abouts),
        LEGEND,
        *_degraded(made),
        *_environments(found, len(abouts)),
        *_builds(made),
    ]
    return "\n".join(lines)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])


def _versions(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Each torch with each Python, in order."""
    return list(dict.fromkeys((row.torch, row.python) for row in rows))


def _jobs(rows: Sequence[Row], abouts: Mapping[str, str]) -> Iterator[str]:
    versions = _versions(rows)
    cells = {(row.case, row.torch, row.python): cell(row) for row in rows}
    yield f"| torch | | {' | '.join(torch for torch, _ in versions)} |"
    yield "|---|---|" + "---|" * len(versions)
    yield f"| Python | | {' | '.join(_minor(python) for _, python in versions)} |"
    for name, about in abouts.items():
        told = " | ".join(cells.get((name, *version), "not run") for version in versions)
        yield f"| {name} | {about} | {told} |"
    yield ""


def cell(row: Row) -> str:
    """How one job came out, in a word or two."""
    if row.lacks:
        return "not in it"
    if row.wrongly_certain:
        return f"**wrong**: {row.code or 'nothing'}"
    if not row.missed:
        return "yes"
    if set(row.missed) == {"time"} and row.silence is None:
        return "yes, untimed"
    after = f", {row.silence:.0f} s" if row.silence is not None else ""
    if set(row.missed) <= LESS:
        return f"{row.deadlock if 'deadlock' in row.missed else 'late'}{after}"
    return ", ".join(f"{what}: {found}" for what, (_, found) in row.missed.items() if what not in LESS)


def _degraded(rows: Sequence[Row]) -> Iterator[str]:
    """What differs, and the gaps that say why; jobs with the same of both together."""
    yield from ("## What degrades", "")
    yield from ("What differs from the expected, and the gaps of those reports (*blind* in the text) that say why.", "")
    some = False
    for torch, python in _versions(rows):
        lacking = {row.case: row.lacks for row in rows if (row.torch, row.python) == (torch, python) and row.lacks}
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for row in rows:
            if (row.torch, row.python) == (torch, python) and row.is_miss:
                groups.setdefault((tuple(_differences(row)), row.gaps), []).append(row.case)
        if groups or lacking:
            some = True
            yield from (f"**torch {torch}, Python {python}**", "")
            for case, why in lacking.items():
                yield f"- {case}: {why}"
            for (differs, gaps), cases in groups.items():
                yield f"- {', '.join(cases)}: {'; '.join(differs)}. Gaps: {'; '.join(gaps) or '**none**'}."
            yield ""
    if not some:
        yield from ("Nothing.", "")


def _differences(row: Row) -> Iterator[str]:
    if row.wrongly_certain:
        yield "**wrongly certain**"
    for what, (wanted, found) in row.missed.items():
        if what == "time":
            # no two runs take the same time
            yield "told later than promised" if row.silence is not None else "no progress was seen that could be timed"
        else:
            yield f"{what} {found}, expected {wanted}"


def _environments(rows: Sequence[Row], jobs: int) -> Iterator[str]:
    """Each torch with each Python: how many jobs were as expected, or that it was not run."""
    yield from ("## What was run, and what was not", "")
    yield "How many jobs were all as expected, of those that this torch can run. The weekly workflow"
    yield from ("(`.github/workflows/tests.yml`) runs all of them; what stands here was run by hand.", "")
    yield f"| torch | {' | '.join(f'Python {python}' for python in PYTHONS)} |"
    yield "|---|" + "---|" * len(PYTHONS)
    named = [row.torch for row in rows]
    for torch in sorted({*TORCHES, *named}, key=_numbers):
        cells = [
            _environment([row for row in rows if (row.torch, _minor(row.python)) == (torch, python)], jobs)
            for python in PYTHONS
        ]
        yield f"| {torch} | {' | '.join(cells)} |"
    yield ""


def _environment(rows: Sequence[Row], jobs: int) -> str:
    if not rows:
        return "not run"
    if rows[0].case == NO_ENVIRONMENT:
        return rows[0].lacks
    ran = [row for row in rows if not row.lacks]
    missing = jobs - len(rows)
    return f"{sum(not row.is_miss for row in ran)} of {len(ran)}" + (f", {missing} not run" if missing else "")


def _builds(rows: Sequence[Row]) -> Iterator[str]:
    builds = sorted({row.build for row in rows}, key=lambda build: (_numbers(build.partition("+")[0]), build))
    pythons = sorted({row.python for row in rows}, key=_numbers)
    kernels, commits = sorted({row.kernel for row in rows}), sorted({row.commit for row in rows} - {""})
    yield (
        f"Builds: torch {', '.join(builds)}; Python {', '.join(pythons)}; Linux {', '.join(kernels)}; no GPU. "
        f"Commit {', '.join(commits)}."
    )
    yield ""
