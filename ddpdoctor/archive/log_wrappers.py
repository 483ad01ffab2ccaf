"""Pure. Removes what log collectors put around each line: JSON, time stamps, container, pod, host and actor names.

    {"log":"Traceback (most recent call last):\\n","stream":"stderr","time":"..."}      Docker's json-file, and others
    2024-08-16T01:45:40.183Z stderr F Traceback ...                                    containerd, CRI-O
    trainer-0-1  | Traceback ...        [pod/job-worker-3/main] Traceback ...           docker compose, kubectl
    node07: Traceback ...               (Worker[rank=31] pid=326, ip=10.1.1.3) ...      pdsh and clush, Ray

Tracebacks and stacks are recognised only if their lines begin as they were written. The source that a prefix names
keeps lines of different sources apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ddpdoctor.model import json_text

#: lines that are sampled to detect a wrapper, and the share of them that must have it
_LOOKED_AT = 400
_SHARE = 0.9
#: nested wrappers that are removed
_DEEPEST = 3
#: characters up to which a line is parsed as JSON
_MOST_JSON = 1 << 16
_MOST_SOURCES = 4096
#: keys of structured logs that hold the line itself, and the rank
_TEXT_KEYS = ("log", "message", "msg", "text", "line", "event")
_RANK_KEYS = ("rank", "global_rank", "RANK")

_STAMPS = (
    re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] "),
    re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:? "),
)
_SOURCES = (
    re.compile(r"(\S{1,80}) +\| ?"),
    re.compile(r"\[pod/([^\]\s]{1,200})\] ?"),
    re.compile(r"([A-Za-z][\w.-]{0,62}\d[\w.-]{0,16}): ?"),
)
#: Ray writes its driver's own lines without this prefix between those of its actors
_RAY = re.compile(r"\(([\w\[\]=.: -]{1,100}? pid=\d{1,10}(?:, ip=[\d.]{7,15})?)\) ?")


def unwrap(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(source, line) for every line; the source is "" if none is named."""
    sample = [line for line in lines[: 4 * _LOOKED_AT] if line.strip()][:_LOOKED_AT]
    if _are_json(sample):
        inner = [found for line in lines for found in _from_json(line)]
        for source, wrapped in _grouped(inner):
            yield from ((source or name, line) for name, line in _peeled(wrapped))
        return
    yield from _peeled(lines)


def _grouped(inner: list[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Lines grouped by source, in the order of the sources' first lines."""
    found: dict[str, list[str]] = {}
    for source, line in inner:
        found.setdefault(source if len(found) < _MOST_SOURCES else "", []).append(line)
    yield from found.items()


def _peeled(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Lines without the prefixes that nearly all of them have."""
    prefixes = _prefixes([line for line in lines[: 4 * _LOOKED_AT] if line.strip()][:_LOOKED_AT])
    for line in lines:
        source = ""
        for prefix in prefixes:
            found = prefix.match(line)
            if found:
                source = found[1] if prefix.groups else source
                line = line[found.end() :]
        if line.startswith("(") and (actor := _RAY.match(line)):
            source, line = actor[1], line[actor.end() :]
        yield source, line


def _prefixes(sample: list[str]) -> list[re.Pattern[str]]:
    """Prefixes that nearly all lines of a sample begin with, the outermost first."""
    found: list[re.Pattern[str]] = []
    while len(found) < _DEEPEST:
        chosen = next((p for p in (*_STAMPS, *_SOURCES) if p not in found and _begins(sample, p)), None)
        if chosen is None:
            break
        found.append(chosen)
        sample = [line[match.end() :] if (match := chosen.match(line)) else line for line in sample]
    return found


def _begins(sample: list[str], prefix: re.Pattern[str]) -> bool:
    """Whether nearly all lines have this prefix. A name before a colon counts only if there are several: one word may
    begin all lines of a program."""
    matches = [match for line in sample if (match := prefix.match(line))]
    several = prefix is not _SOURCES[-1] or len({match[1] for match in matches}) > 1
    return len(matches) >= max(2, _SHARE * len(sample)) and several


def _are_json(sample: list[str]) -> bool:
    objects = [line for line in sample if line.startswith("{") and _object(line) is not None]
    return len(objects) >= max(1, _SHARE * len(sample))


def _object(line: str) -> dict[str, Any] | None:
    """A JSON object that holds a line of text."""
    if not line.startswith("{") or len(line) > _MOST_JSON:
        return None
    try:
        loaded = json_text.parsed(line)
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) and any(isinstance(loaded.get(key), str) for key in _TEXT_KEYS) else None


def _from_json(line: str) -> Iterator[tuple[str, str]]:
    loaded = _object(line)
    if loaded is None:
        yield "", line
        return
    rank = next((loaded[key] for key in _RANK_KEYS if isinstance(loaded.get(key), int)), None)
    said = next(str(loaded[key]) for key in _TEXT_KEYS if isinstance(loaded.get(key), str))
    for part in said.splitlines() or [""]:
        yield "" if rank is None else f"rank_{rank}", part
