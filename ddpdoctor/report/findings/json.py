"""Pure. All findings as one JSON list."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ddpdoctor.model.codec import encode
from ddpdoctor.model.finding import Finding
from ddpdoctor.report.findings.finding_text import Texts


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """A list, `[]` if there are none."""
    del texts
    return json.dumps([encode(f) for f in findings], indent=2) + "\n"
