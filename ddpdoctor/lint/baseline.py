"""Pure. A list of known findings, so that an old code base can start with a clean slate. Lines may move."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ddpdoctor.errors import InputError
from ddpdoctor.model.finding import Finding

SCHEMA = "ddpdoctor.lint-baseline/1"

#: file, code, text of the line
Key = tuple[str, str, str]


def keyed(findings: Sequence[Finding], texts: Mapping[str, str], named: Callable[[str], str]) -> list[Key]:
    """What makes each finding the same one after its line has moved. `named` gives a file's name in the baseline."""
    lines = {source: text.split("\n") for source, text in texts.items()}
    return [(named(f.file), f.code, _line(lines.get(f.source, []), f.line)) for f in findings]


def _line(lines: Sequence[str], number: int) -> str:
    return " ".join(lines[number - 1].split()) if number <= len(lines) else ""


def write(keys: Sequence[Key]) -> str:
    """The file's text: how often each is there."""
    entries = [
        {"file": file, "code": code, "line": line, "count": n}
        for (file, code, line), n in sorted(Counter(keys).items())
    ]
    return json.dumps({"schema": SCHEMA, "findings": entries}, indent=2) + "\n"


def read(text: str) -> Counter[Key]:
    """How often each is known. Raises InputError where the text is no baseline."""
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise InputError(f"the baseline has schema {document['schema']!r}, not {SCHEMA!r}")
        return Counter({(e["file"], e["code"], e["line"]): int(e["count"]) for e in document["findings"]})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"this is not a baseline: {error!r}", hint="delete it to write a new one") from None


def new(findings: Sequence[Finding], keys: Sequence[Key], known: Counter[Key]) -> list[Finding]:
    """Findings beyond those that are known; of several equal ones the last."""
    left = Counter(known)
    fresh: list[Finding] = []
    for finding, key in zip(findings, keys, strict=True):
        if left[key] > 0:
            left[key] -= 1
        else:
            fresh.append(finding)
    return fresh
