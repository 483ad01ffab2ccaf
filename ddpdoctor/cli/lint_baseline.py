"""Impure: reads and writes the file. `lint --baseline FILE`: known findings are not reported."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from ddpdoctor.errors import InputError
from ddpdoctor.lint import baseline
from ddpdoctor.lint.engine import LintReport
from ddpdoctor.model.record import record, replace


@record(frozen=True, slots=True)
class Baseline:
    """A baseline file; `known` is None if it is still to be written."""

    path: str
    known: Counter[baseline.Key] | None

    def new_findings(self, report: LintReport) -> LintReport:
        """The report without known findings."""
        if self.known is None:
            return replace(report, findings=())
        return replace(report, findings=tuple(baseline.new(report.findings, self._keys(report), self.known)))

    def write_if_missing(self, report: LintReport) -> None:
        """Write the file if it does not exist. Raises InputError if that fails."""
        if self.known is not None:
            return
        try:
            Path(self.path).write_text(baseline.write(self._keys(report)), encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write the baseline {self.path}: {error.strerror}") from None
        count = len(report.findings)
        print(f"ddpdoctor: wrote {self.path} with {count} finding{'s' * (count != 1)}", file=sys.stderr)

    def _keys(self, report: LintReport) -> list[baseline.Key]:
        """Files are named relative to the baseline's folder, so that its content does not depend on the working
        directory."""
        folder = os.path.dirname(os.path.abspath(self.path))  # noqa: PTH100, PTH120

        def named(path: str) -> str:
            name = os.path.relpath(path, folder).replace("\\", "/")
            return name.encode("utf-8", "backslashreplace").decode()

        return baseline.keyed(report.findings, report.texts, named)


def load(path: str) -> Baseline:
    """Read a baseline. Raises InputError for a file that exists and cannot be used."""
    try:
        return Baseline(path, baseline.read(Path(path).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Baseline(path, None)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot use the baseline {path}: {getattr(error, 'strerror', None) or error}") from None
