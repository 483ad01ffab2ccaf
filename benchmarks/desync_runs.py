"""First runs of programs with a silent phase: `python -m benchmarks.desync_runs FOLDER` runs each of a set once.

FOLDER is a set as `benchmarks.first_runs` has them; `outcome` in expected.toml is `desync` (one rank departs in the
middle, and the job hangs much later) or `healthy`. Each program runs under `ddpdoctor watch` until it hangs or ends.
Results are appended to desync.jsonl in the set, with commit and engine; a program that has one is not run again:
what was looked at and mended measures nothing. `--again FILE` runs all of them and writes to FILE instead.

Exit status 1 if a desync of a healthy program was told, or one with certainty.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import first_runs, measured
from benchmarks.first_runs import Expected
from ddpdoctor.model.ranks import RankSet
from tests.e2e.job import STARTUP, Report, Run, watch

RESULTS = "desync.jsonl"
#: seconds from the first shifted visit to the warning
PROMPT = 3.0
#: seconds that a program may take beside its start
LONGEST = 180.0


@dataclass(frozen=True, slots=True)
class DesyncRun:
    """What was told of a program while it moved, and when it hung."""

    name: str
    framework: str
    ranks: int
    expected: str
    #: what is right of told, prompt, culprits, line, same (culprits as at the hang); of a healthy program: silent
    right: tuple[str, ...]
    code: str
    confidence: str
    culprits: tuple[int, ...]
    #: "file:line" that was shown first, "" for none
    place: str
    #: from the first shifted visit to the warning; None if nothing was told
    after: float | None
    #: how it ended: outcome, code, culprits
    end: str
    #: why the run says nothing of the engine: the program failed by itself
    invalid: str = ""
    commit: str = ""
    engine: str = ""

    @property
    def healthy(self) -> bool:
        return self.expected.startswith("healthy")


def run(program: Expected, folder: Path) -> DesyncRun:
    """Run one program and judge what was told of it."""
    done = watch(
        first_runs.command(program),
        folder,
        timeout=STARTUP + LONGEST,
        until=lambda report: report["outcome"] == "hang",
    )
    return judge(program, done)


def judge(program: Expected, done: Run) -> DesyncRun:
    """Compare the warning, and the hang after it, with what was expected."""
    warning = next((one for one in done.reports if one["outcome"] == "desync"), None)
    sign = None if warning else _sign(done.reports)
    last = done.reports[-1] if done.reports else None
    end = _first(last) if last is not None and last["outcome"] != "desync" else {}
    first = _first(warning)
    place = next(((one["file"], one["line"]) for one in first.get("locations", [])), None)
    after = None if warning is None else warning["timeline"]["reported"] - warning["desync"]["since"]
    culprits = tuple(first.get("culprits", ()))
    if sign is not None and program.outcome != "healthy":
        after, culprits, place = sign.after, sign.culprits, _place(program, sign)
    told = warning is not None or sign is not None
    if program.outcome == "healthy":
        right = ["silent"] if warning is None and done.status == 0 else []
    else:
        right = [
            *(["told"] if told else []),
            *(["prompt"] if after is not None and after <= PROMPT else []),
            *(["culprits"] if told and set(culprits) == set(program.culprits) else []),
            *(["line"] if place and first_runs.is_named(program, *place) else []),
            *(["same"] if told and end and set(end["culprits"]) == set(culprits) else []),
        ]
    return DesyncRun(
        name=program.folder.name,
        framework=program.framework,
        ranks=program.ranks,
        expected=f"{program.outcome} {list(program.culprits)}",
        right=tuple(right),
        code="sign" if sign is not None else str(first.get("code", "none")),
        confidence=str(first.get("confidence", "none")),
        culprits=culprits,
        place=f"{Path(place[0]).name}:{place[1]}" if place else "",
        after=None if after is None else round(after, 1),
        end=f"{last['outcome']} {end.get('code')} {end.get('culprits')}" if last and end else f"status {done.status}",
        commit=measured.commit(),
        engine=measured.engine(),
    )


class Sign(NamedTuple):
    """An early sign, as a report's note tells it."""

    #: seconds from its beginning until it was told
    after: float
    culprits: tuple[int, ...]
    #: name of the file, and line
    file: str
    line: int


#: of the two forms: the loader of some ranks is shorter, or they began its loop anew
_SIGN = re.compile(r"early sign since ([\d.]+) s, told ([\d.]+) s after the start: .* at (\S+):(\d+) .*: unless")
_RANKS = re.compile(r"ranks? ([\d,-]+)")


def _sign(reports: Sequence[Report]) -> Sign | None:
    """The first early sign, if there is one; its culprits are those of the fewest ranks that it names."""
    notes = (note for report in reports for note in report["notes"])
    found = next(filter(None, map(_SIGN.match, notes)), None)
    if found is None:
        return None
    named = [tuple(RankSet.parse(text)) for text in _RANKS.findall(found[0])]
    fewest = min(named, key=len)
    culprits = fewest if sum(len(one) == len(fewest) for one in named) == 1 else ()
    return Sign(float(found[2]) - float(found[1]), tuple(map(int, culprits)), found[3], int(found[4]))


def _place(program: Expected, sign: Sign) -> tuple[str, int]:
    return str(program.folder / sign.file), sign.line


def _first(report: Report | None) -> dict[str, Any]:
    return report["diagnoses"][0] if report and report["diagnoses"] else {}


def results(file: Path) -> list[DesyncRun]:
    if not file.exists():
        return []
    loaded = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return [DesyncRun(**{**one, "right": tuple(one["right"]), "culprits": tuple(one["culprits"])}) for one in loaded]


def sets() -> dict[str, list[DesyncRun]]:
    """The results of every set that was run."""
    return {file.parent.name: results(file) for file in sorted(first_runs.SETS.glob(f"*/{RESULTS}"))}


def summary(runs: Sequence[DesyncRun]) -> str:
    valid = [one for one in runs if not one.invalid]
    broken = [one for one in valid if not one.healthy]
    healthy = [one for one in valid if one.healthy]
    words = (f"{what} {sum(what in one.right for one in broken)}" for what in ASKED)
    return (
        f"{len(broken)} with a silent phase: {', '.join(words)}; {len(healthy)} healthy: silent "
        f"{sum('silent' in one.right for one in healthy)}; invalid {len(runs) - len(valid)}"
    )


#: what is asked of a program with a silent phase
ASKED = ("told", "prompt", "culprits", "line", "same")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs with this text in their name")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--again", type=Path, metavar="FILE", help="run all, also those with a result, and write here")
    args = parser.parse_args()
    file: Path = args.again or args.folder / RESULTS
    known = {one.name for one in results(file)}
    every = first_runs.programs(args.folder)
    todo = [one for one in every if one.folder.name not in known and args.only in one.folder.name]
    print(f"{len(known)} have a result, {len(todo)} are to be run", file=sys.stderr)
    first_runs.run_all(todo, run, file, args.jobs, in_words)
    print(summary(results(file)))
    return 1 if any(_alarms(one) for one in results(file) if not one.invalid) else 0


def _alarms(found: DesyncRun) -> bool:
    return found.confidence == "certain" or (found.healthy and found.after is not None)


def in_words(found: DesyncRun) -> str:
    """One line on a run: what was right, what was expected, what was said."""
    said = f"{found.code} {found.confidence} {list(found.culprits)} {found.place} after {found.after} s"
    return f"right: {', '.join(found.right) or 'nothing'}; expected {found.expected}; said {said}; end: {found.end}"


if __name__ == "__main__":
    sys.exit(main())
