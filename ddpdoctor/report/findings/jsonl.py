"""Pure. One JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ddpdoctor.model.codec import encode
from ddpdoctor.model.finding import Finding
from ddpdoctor.report.findings.finding_text import Texts


def render(findings: Sequence[Finding], texts: Texts) -> str:
    """A line for each finding; nothing if there are none."""
    del texts
    return "".join(json.dumps(encode(f)) + "\n" for f in findings)
