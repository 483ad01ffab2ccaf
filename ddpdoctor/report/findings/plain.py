"""Pure. What the formats share: text that is safe to show, and the version that is named in reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ddpdoctor.model.finding import Finding, Severity

#: path -> source text, for code frames
Texts = Mapping[str, str]
Renderer = Callable[[Sequence[Finding], Texts], str]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def clean(text: str) -> str:
    """Without control characters: a file name or a line of source must not drive the terminal."""
    return _CONTROL.sub("?", text)


def counted(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    parts = []
    for severity in Severity:
        number = sum(f.severity is severity for f in findings)
        if number:
            parts.append(f"{number} {severity.value}{'s' if number > 1 else ''}")
    return ", ".join(parts)
