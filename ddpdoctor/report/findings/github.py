"""Pure. GitHub workflow commands, errors first: GitHub shows ten annotations of a kind per step."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.report.findings.finding_text import Texts, clean, without_cell

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "notice"}


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """A workflow command for each finding."""
    del texts
    ranked = sorted(findings, key=lambda f: list(Severity).index(f.severity))
    return "".join(_line(without_cell(f)) for f in ranked)


def _line(f: Finding) -> str:
    place = f"file={_property(f.file)},line={f.line},endLine={f.end_line}"
    columns = f",col={f.column},endColumn={f.end_column}" if f.line == f.end_line else f",col={f.column}"
    title = _property(f"{f.code} {f.name}")
    return f"::{_COMMAND[f.severity]} {place}{columns},title={title}::{_data(f.message)}\n"


def _data(text: str) -> str:
    return clean(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
