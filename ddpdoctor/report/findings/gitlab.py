"""Pure. GitLab's Code Quality report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.report.findings.finding_text import Texts, clean, without_cell

_SEVERITY = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.HINT: "info"}


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """A JSON list; fingerprints are independent of line numbers and unique within the report."""
    del texts
    seen: dict[str, int] = {}
    entries = []
    for f in map(without_cell, findings):
        base = f"{f.file}\0{f.code}\0{f.message}"
        seen[base] = seen.get(base, 0) + 1
        entries.append(
            {
                "description": clean(f"{f.code}: {f.message}"),
                "check_name": f.name,
                "fingerprint": hashlib.sha256(f"{base}\0{seen[base]}".encode("utf-8", "replace")).hexdigest()[:40],
                "severity": _SEVERITY[f.severity],
                "location": {
                    "path": clean(f.file),
                    "positions": {
                        "begin": {"line": f.line, "column": f.column},
                        "end": {"line": f.end_line, "column": f.end_column},
                    },
                },
            }
        )
    return json.dumps(entries, indent=2) + "\n"
