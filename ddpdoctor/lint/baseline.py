"""Pure. A list of known findings, so that an old code base can start with a clean slate. Lines may move."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from ddpdoctor.errors import InputError
from ddpdoctor.model.finding import Finding

SCHEMA = "ddpdoctor.lint-baseline/1"

_Key = tuple[str, str, str]


def _key(finding: Finding) -> _Key:
    """What makes a finding the same one after lines have moved; related lines in messages are not part of it."""
    return (finding.file.replace("\\", "/"), finding.code, finding.name)


def write(findings: Sequence[Finding]) -> str:
    """The file's text: how many findings of each rule each file has."""
    counts = Counter(_key(f) for f in findings)
    entries = [
        {"file": file, "code": code, "name": name, "count": n} for (file, code, name), n in sorted(counts.items())
    ]
    return json.dumps({"schema": SCHEMA, "findings": entries}, indent=2) + "\n"


def read(text: str) -> Counter[_Key]:
    """Counts by file and rule. Raises InputError where the text is no baseline."""
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise InputError(f"the baseline has schema {document['schema']!r}, not {SCHEMA!r}")
        return Counter({(e["file"], e["code"], e["name"]): int(e["count"]) for e in document["findings"]})
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"this is not a baseline: {error}", hint="delete it to have a new one written") from None


def new(findings: Sequence[Finding], known: Counter[_Key]) -> list[Finding]:
    """Findings beyond those that are known; in a file that has more than before, the last ones."""
    left = Counter(known)
    fresh: list[Finding] = []
    for finding in findings:
        if left[_key(finding)] > 0:
            left[_key(finding)] -= 1
        else:
            fresh.append(finding)
    return fresh
