"""Pure. SARIF 2.1.0, as code scanning services read it. The rules' pages are the help texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import ddpdoctor
from ddpdoctor.model.finding import Finding, Fix, Severity
from ddpdoctor.report.findings.finding_text import Texts, without_cell

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(findings: Sequence[Finding], texts: Texts, pages: Mapping[str, str] | None = None) -> str:
    """One run with the rules that occur. `pages`: code -> the rule's page."""
    del texts
    rules = {f.code: f for f in findings}
    order = sorted(rules)
    driver = {
        "name": "ddpdoctor",
        "semanticVersion": ddpdoctor.__version__,
        "rules": [_rule(rules[code], (pages or {}).get(code, "")) for code in order],
    }
    run = {
        "tool": {"driver": driver},
        # columns count characters, as editors show them
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, order.index(f.code)) for f in map(without_cell, findings)],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(finding: Finding, page: str) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": page.strip().split("\n", 1)[0] or finding.name},
        "defaultConfiguration": {"level": _LEVEL[finding.severity]},
    }
    if finding.advice:
        rule["fullDescription"] = {"text": finding.advice}
    if page:
        rule["help"] = {"text": page, "markdown": page}
    return rule


def _result(f: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": f.code,
        "ruleIndex": index,
        "level": _LEVEL[f.severity],
        "message": {"text": f.message},
        "locations": [{"physicalLocation": _place(f.file, _region(f))}],
    }
    if f.related:
        result["relatedLocations"] = [
            {"physicalLocation": _place(r.file, {"startLine": r.line}), "message": {"text": r.message}}
            for r in f.related
        ]
    if f.fix is not None:
        result["fixes"] = [_fix(f.file, f.fix)]
    return result


def _place(file: str, region: Mapping[str, int]) -> dict[str, Any]:
    return {"artifactLocation": _artifact(file), "region": dict(region)}


def _artifact(file: str) -> dict[str, str]:
    """A URI: relative to the root of the sources, or absolute for a file outside of it."""
    from urllib.parse import quote

    path = quote(file.replace("\\", "/").encode("utf-8", "surrogateescape"))
    return {"uri": f"file://{path}"} if path.startswith("/") else {"uri": path, "uriBaseId": "%SRCROOT%"}


def _region(f: Finding) -> dict[str, int]:
    return {"startLine": f.line, "startColumn": f.column, "endLine": f.end_line, "endColumn": f.end_column}


def _fix(file: str, fix: Fix) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {
                "startLine": e.line, "startColumn": e.column, "endLine": e.end_line, "endColumn": e.end_column,
            },
            "insertedContent": {"text": e.content},
        }
        for e in fix.edits
    ]  # fmt: skip
    changes = [{"artifactLocation": _artifact(file), "replacements": replacements}]
    return {"description": {"text": f"{fix.applicability.value} fix"}, "artifactChanges": changes}
