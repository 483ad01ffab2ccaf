"""The baseline: a list of known findings that are not reported again, also if their lines move. Pure."""

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
    """The key that identifies each finding after its line has moved. `named` gives a file's name in the baseline."""
    lines = {source: text.split("\n") for source, text in texts.items()}
    return [(named(f.file), f.code, _line(lines.get(f.source, []), f.line)) for f in findings]


def _line(lines: Sequence[str], number: int) -> str:
    return " ".join(lines[number - 1].split()) if number <= len(lines) else ""


def write(keys: Sequence[Key]) -> str:
    """The baseline file's text: each key with its number of occurrences."""
    entries = [
        {"file": file, "code": code, "line": line, "count": n}
        for (file, code, line), n in sorted(Counter(keys).items())
    ]
    return json.dumps({"schema": SCHEMA, "findings": entries}, indent=2) + "\n"


def read(text: str) -> Counter[Key]:
    """The number of occurrences of each key. Raises InputError if the text is not a baseline."""
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise InputError(f"the baseline has schema {document['schema']!r}, not {SCHEMA!r}")
        return Counter({(e["file"], e["code"], e["line"]): int(e["count"]) for e in document["findings"]})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"this is not a baseline: {error!r}", hint="delete it to write a new one") from None


def new(findings: Sequence[Finding], keys: Sequence[Key], known: Counter[Key]) -> list[Finding]:
    """Findings that are not in the baseline; if there are more of one key than it lists, the last ones."""
    left = Counter(known)
    fresh: list[Finding] = []
    for finding, key in zip(findings, keys, strict=True):
        if left[key] > 0:
            left[key] -= 1
        else:
            fresh.append(finding)
    return fresh
