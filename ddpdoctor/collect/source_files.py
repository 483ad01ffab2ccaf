"""The job's own source files that stacks and histories name, for code frames and for the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ddpdoctor.model.evidence import Evidence, SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import libraries
from ddpdoctor.program.libraries import Kind

MOST_FILES = 64
MOST_BYTES = 512 * 1024


def sites(evidence: Evidence) -> Iterator[Site]:
    """Every place that the evidence names: stacks, calls, history, loaders, exceptions."""
    for rank in evidence.ranks:
        for stacks in (rank.stacks, *(child.stacks for child in rank.children)):
            for thread in stacks.threads if stacks else ():
                yield from thread.frames
        yield from rank.raised.frames if rank.raised else ()
        if rank.page is None:
            continue
        yield from (loader.site for loader in rank.page.counters.loaders)
        yield from (call.site for call in rank.page.calls if call.site)
        yield from (event.site for event in rank.page.events if event.site)
        raised = [*rank.page.pending, *([rank.page.ending.raised] if rank.page.ending else [])]
        yield from (frame for exception in raised if exception for frame in exception.frames)


def read(places: Iterable[Site], *, started: float) -> dict[str, SourceFile]:
    """Read the files of these places. `started`: seconds since the epoch; a file that was modified later is marked as
    changed."""
    found: dict[str, SourceFile] = {}
    for name in dict.fromkeys(place.file for place in places):
        if len(found) >= MOST_FILES:
            break
        source = _read_one(Path(name), started) if _is_wanted(name) else None
        if source is not None:
            found[name] = source
    return found


def _is_wanted(file: str) -> bool:
    """Whether a place is in a file that is not of the standard library, torch or the probe."""
    kind, package = libraries.origin(file)
    known = kind is Kind.STANDARD_LIBRARY or (kind is Kind.LIBRARY and package in ("torch", "ddpdoctor"))
    return not known and not file.startswith("<")


def _read_one(path: Path, started: float) -> SourceFile | None:
    try:
        status = path.stat()
        if status.st_size > MOST_BYTES:
            return None
        text = path.read_text(errors="replace")
    except (OSError, ValueError):
        return None
    return SourceFile(str(path), text, changed=status.st_mtime > started)
