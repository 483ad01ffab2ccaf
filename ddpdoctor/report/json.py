"""Pure. A Report as JSON, `ddpdoctor.report/2`: what `--json` writes and `decode` reads back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

from ddpdoctor.model import codec, json_text
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.report import READABLE, SCHEMA, Report

#: lines kept on either side of a location: enough for a code frame, not a copy of the user's program
CONTEXT = 3


def render(report: Report) -> str:
    """The report as JSON text: keys in the model's order, `schema` first, mappings sorted. Ends with a newline."""
    reduced = dataclasses.replace(report, code=_around_locations(report))
    value = {"schema": report.schema, **codec.encode(reduced)}
    for name in ("versions", "environment", "not_considered", "code"):
        value[name] = dict(sorted(value[name].items()))
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read(text: str) -> Report:
    """Read what `render` wrote, now or before `/2`. Raises codec.DecodeError for anything else."""
    try:
        value = json_text.parsed(text)
    except ValueError as error:
        raise codec.DecodeError(f"$: not JSON: {error}") from None
    if not isinstance(value, dict) or value.get("schema") not in READABLE:
        found = value.get("schema") if isinstance(value, dict) else type(value).__name__
        raise codec.DecodeError(f"$.schema: expected {SCHEMA!r}, found {found!r}")
    return codec.decode(Report, {**value, "schema": SCHEMA})


def _around_locations(report: Report) -> Mapping[str, SourceFile]:
    """Each named file, cut to the span of its locations; lines between them that are near no location are emptied."""
    wanted: dict[str, set[int]] = {}
    named = [location for diagnosis in report.diagnoses for location in diagnosis.locations]
    named.extend(status.location for status in report.ranks if status.location is not None)
    for location in named:
        near = range(location.line - CONTEXT, location.line + CONTEXT + 1)
        wanted.setdefault(location.file, set()).update(near)
    kept = {path: _cut(report.code[path], lines) for path, lines in wanted.items() if path in report.code}
    return {path: source for path, source in kept.items() if source is not None}


def _cut(source: SourceFile, wanted: set[int]) -> SourceFile | None:
    text = source.text.split("\n")
    last = source.first + len(text) - 1
    inside = [number for number in wanted if source.first <= number <= last]
    if not inside:
        return None
    first = min(inside)
    lines = [text[n - source.first] if n in wanted else "" for n in range(first, max(inside) + 1)]
    return dataclasses.replace(source, text="\n".join(lines), first=first)
