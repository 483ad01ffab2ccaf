"""How many real faults lint finds: `python -m benchmarks.lint_history REPOS`.

REPOS is a folder of clones, called `owner+name` or `owner/name`. For each fault in learn.toml and measure.toml that its
authors fixed, lint runs on the file in the commit before the fix and in the fix, each in the tree of its commit, and
must tell the fault before and be silent after. For each place in traps.toml, which only looks like a fault, it must be
silent. What was linted is kept in build/lint-history.jsonl: an interrupted run continues where it stopped, and another
version of lint starts anew. Nothing of the clones is executed or changed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.lint_history import cases, clones, judge, linting, table
from benchmarks.lint_history.cases import CaseError, Fix, Half, Trap
from benchmarks.lint_history.clones import CloneError
from benchmarks.lint_history.judge import Judged, Revision
from benchmarks.lint_history.linting import File, Linted, Told
from benchmarks.measured import ROOT, commit

RESULTS = ROOT / "build" / "lint-history.jsonl"
_NOT_LINTED = Linted(error="not linted")


def main() -> int:
    args = _arguments()
    if not args.repos.is_dir():
        print(f"{args.repos}: no such folder", file=sys.stderr)
        return 2
    try:
        fixes = {half: cases.read_fixes(half) for half in args.half}
        traps = [trap for trap in cases.read_traps() if cases.half_of(trap.repository) in args.half]
    except CaseError as error:
        print(error, file=sys.stderr)
        return 2
    linted = linting.lint_all(
        _files([fix for some in fixes.values() for fix in some], traps), args.repos, RESULTS,
        jobs=args.jobs, limit=args.limit, progress=_progress,
    )  # fmt: skip
    print(f"commit {commit()}")
    for half, some in fixes.items():
        _print_fixes(half, some, args.repos, linted, listed=args.list and half == "learn")
    for half in args.half:
        _print_traps(half, traps, linted, listed=args.list and half == "learn")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repos", metavar="REPOS", type=Path, help="folder of clones")
    parser.add_argument("--half", choices=cases.HALVES, action="append", help="only this half (default: both)")
    parser.add_argument(
        "--list", action="store_true", help="list what was missed in the half to learn from, never in the other one"
    )
    parser.add_argument("--jobs", type=int, default=2, help="trees that are linted at a time")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one file")
    args = parser.parse_args()
    args.half = list(dict.fromkeys(args.half or cases.HALVES))
    return args


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _files(fixes: Iterable[Fix], traps: Iterable[Trap]) -> list[File]:
    files = [File(trap.repository, trap.commit, trap.path) for trap in traps]
    for fix in fixes:
        for path in _paths(fix):
            files += [File(fix.repository, fix.parent, path), File(fix.repository, fix.commit, path)]
    return files


def _paths(fix: Fix) -> list[str]:
    return list(dict.fromkeys([fix.path, *(place.rpartition(":")[0] for place in fix.elsewhere)]))


def _print_fixes(half: Half, fixes: Iterable[Fix], repos: Path, linted: dict[File, Linted], *, listed: bool) -> None:
    judged, left_out = [], 0
    for fix in fixes:
        verdict = _judged(fix, repos, linted)
        if verdict is None:
            left_out += 1
        else:
            judged.append((fix, verdict))
    print(f"\n{half}: {len(judged)} fixes" + (f" ({left_out} could not be linted)" if left_out else "") + "\n")
    print(table.of_fixes(judged))
    if listed:
        print(f"\n{table.of_misses(judged)}")


def _judged(fix: Fix, repos: Path, linted: dict[File, Linted]) -> Judged | None:
    """None if one of the two commits could not be linted."""
    clone = clones.find(repos, fix.repository)
    if clone is None or linted.get(File(fix.repository, fix.parent, fix.path), _NOT_LINTED).error:
        return None
    before, after = (_revision(clone, fix, commit_, linted) for commit_ in (fix.parent, fix.commit))
    if fix.path in after.texts and linted.get(File(fix.repository, fix.commit, fix.path), _NOT_LINTED).error:
        return None
    return judge.judge(fix, before, after)


def _revision(clone: Path, fix: Fix, revision: str, linted: dict[File, Linted]) -> Revision:
    texts: dict[str, str] = {}
    findings: list[Told] = []
    for path in _paths(fix):
        try:
            texts[path] = clones.text(clone, revision, path)
        except CloneError:  # the fix removed the file
            continue
        findings += linted.get(File(fix.repository, revision, path), _NOT_LINTED).findings
    return Revision(texts, tuple(findings))


def _print_traps(half: Half, traps: Iterable[Trap], linted: dict[File, Linted], *, listed: bool) -> None:
    judged = []
    for trap in traps:
        result = linted.get(File(trap.repository, trap.commit, trap.path))
        if cases.half_of(trap.repository) == half and result is not None and not result.error:
            judged.append((trap, judge.is_silent(trap, result.findings)))
    print(f"\n{half}: {table.of_traps(judged)}")
    if listed:
        print(table.of_loud_traps(judged))


if __name__ == "__main__":
    sys.exit(main())
