"""Pure. JUnit XML: one test suite per file, one failing case per finding."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from ddpdoctor.model.finding import Finding
from ddpdoctor.report.findings.finding_text import Texts, clean, without_cell


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """One document; a single passing case if there are no findings, so that CI pages are not empty."""
    del texts
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites name="ddpdoctor" tests="{max(1, len(findings))}" failures="{len(findings)}" errors="0">')
    if not findings:
        lines.append('  <testsuite name="ddpdoctor" tests="1" failures="0" errors="0">')
        lines.append('    <testcase name="no findings" classname="ddpdoctor"/>')
        lines.append("  </testsuite>")
    for file, group in itertools.groupby(map(without_cell, findings), key=lambda f: f.file):
        items = list(group)
        head = f'tests="{len(items)}" failures="{len(items)}" errors="0"'
        lines.append(f"  <testsuite name={quoteattr(clean(file))} {head}>")
        for f in items:
            lines.extend(_case(f))
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _case(f: Finding) -> list[str]:
    name = quoteattr(f"{f.code} {f.name}")
    place = f'classname={quoteattr(clean(f.file))} line="{f.line}" column="{f.column}"'
    text = escape(clean(f"line {f.line}, column {f.column}: {f.message}"))
    return [
        f"    <testcase name={name} {place}>",
        f"      <failure message={quoteattr(clean(f.message))} type={quoteattr(f.severity.value)}>{text}</failure>",
        "    </testcase>",
    ]
