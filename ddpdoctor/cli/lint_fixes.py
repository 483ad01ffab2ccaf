"""Impure: reads and writes files. `lint --fix` and `lint --diff`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ddpdoctor.errors import InputError
from ddpdoctor.lint import files, fix
from ddpdoctor.lint.engine import LintReport
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.record import record
from ddpdoctor.program import source

#: rounds of fixes, as overlapping ones are applied one after the other; more means a fix that does not converge
PASSES = 10


@record(frozen=True, slots=True)
class FixedFile:
    """A file's bytes before and after, and how many findings were fixed in between."""

    path: str
    before: bytes
    after: bytes
    count: int

    def diff(self) -> str:
        """The changes as a unified diff."""
        decoded = source.decode(self.before)
        encoding = decoded.encoding if isinstance(decoded, source.DecodedSource) else "utf-8"
        return fix.diff(self.path, self.before.decode(encoding), self.after.decode(encoding))

    def write(self) -> None:
        """Write the file. Raises InputError if that fails."""
        try:
            Path(self.path).write_bytes(self.after)
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}") from None


@record(frozen=True, slots=True)
class FixRun:
    """How to fix; `new_findings` removes from a report the findings of a baseline, which are not to be fixed either."""

    settings: Settings
    root: str
    unsafe: bool
    new_findings: Callable[[LintReport], LintReport]


def apply_fixes(report: LintReport, how: FixRun, raw: bytes | None) -> list[FixedFile]:
    """Every file that fixes change. `raw` is what was read from standard input, which may have the name of a file."""
    found: dict[str, list[Finding]] = {}
    for finding in report.findings:
        found.setdefault(finding.file, []).append(finding)
    fixed: list[FixedFile] = []
    for path, findings in found.items():
        if not fix.fixable(findings, unsafe=how.unsafe):
            continue
        before = files.read_file(path) if raw is None else raw
        if before is not None:
            one = _fixed(path, before, findings, how)
            fixed += [one] if one.count else []
    return fixed


def _fixed(path: str, before: bytes, findings: Sequence[Finding], how: FixRun) -> FixedFile:
    """Apply fixes to one file in memory until none is left.

    A fix is reverted if the file does not parse after it, or if its finding is still there: it would be applied again
    each time.
    """
    now, total = before, 0
    useless: set[str] = set()
    for _ in range(PASSES):
        decoded = source.decode(now)
        if not isinstance(decoded, source.DecodedSource):
            break
        wanted = [f for f in fix.fixable(findings, unsafe=how.unsafe) if f.code not in useless]
        after, count = fix.apply_to_bytes(now, decoded, wanted, unsafe=how.unsafe)
        if not count:
            break
        left = how.new_findings(_linted(path, after, how)).findings
        failed = _not_fixed(wanted, findings, left) if _parses(after) else {f.code for f in wanted}
        if failed:
            useless |= failed
            continue
        now, total, findings = after, total + count, left
    return FixedFile(path, before, now, total)


def _parses(raw: bytes) -> bool:
    decoded = source.decode(raw)
    return isinstance(decoded, source.DecodedSource) and not isinstance(source.parse(decoded.text), source.Unreadable)


def _not_fixed(wanted: Sequence[Finding], before: Sequence[Finding], left: Sequence[Finding]) -> set[str]:
    """Codes whose fixes had no effect."""
    had, has = Counter(f.code for f in before), Counter(f.code for f in left)
    return {f.code for f in wanted if has[f.code] >= had[f.code]}


def _linted(path: str, raw: bytes, how: FixRun) -> LintReport:
    """The file's findings with this content."""
    here = os.path.abspath(path)  # noqa: PTH100 - as the engine names it

    def read(other: str) -> bytes | None:
        return raw if other == here else files.read_file(other)

    result = Linter(how.settings, how.root, read=read).bytes(path, raw, named=True)
    return LintReport(result.findings, result.texts, 1, 1, result.hints)
