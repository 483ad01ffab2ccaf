"""Pure. Validates single values of a recorder dump, which is untrusted input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ddpdoctor.probe.redact import plain
from ddpdoctor.program import libraries

#: larger than any counter or clock of torch
HUGE = 1 << 62
#: the most tensors of one operation and their dimensions, together; torch itself allows 64 dimensions
_MOST_EXTENTS = 4096
#: the most characters of an operation's, a group's or a file's name
_MOST_TEXT = 4096
_MOST_FRAMES = 4096


class DumpError(ValueError):
    """The file is not a Flight Recorder dump, or is damaged; the message is one line."""


def as_number(value: object) -> int:
    if not isinstance(value, int) or not -HUGE < value < HUGE:
        raise DumpError(f"a number is missing or out of bounds: {type(value).__name__}")
    return int(value)


def as_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise DumpError(f"a text is missing or too long: {type(value).__name__}")
    return plain(value)


def count_extents(sizes: Sequence[Any], dtypes: Sequence[Any]) -> None:
    """Refuse more extents than real tensors have: shared lists can expand beyond memory."""
    total = len(dtypes) + len(sizes)
    for shape in sizes if total <= _MOST_EXTENTS else ():
        total += len(shape)
        if total > _MOST_EXTENTS:
            break
    if total > _MOST_EXTENTS:
        raise DumpError(f"an operation has more than {_MOST_EXTENTS} tensor sizes")


class CallSites:
    """Call sites by their frames, which one dump shares between operations."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[str, int, str] | None] = {}

    def of(self, frames: Sequence[Mapping[str, Any]]) -> tuple[str, int, str] | None:
        """The innermost frame of the user's code."""
        if len(frames) > _MOST_FRAMES:
            raise DumpError("a stack has too many frames")
        key = tuple(map(id, frames))  # alive as long as the dump is
        try:
            return self._known[key]
        except KeyError:
            site = self._known[key] = _users_site(frames)
            return site


def _users_site(frames: Sequence[Mapping[str, Any]]) -> tuple[str, int, str] | None:
    python = [frame for frame in frames if str(frame["filename"]).endswith(".py")]
    files = [str(frame["filename"]) for frame in python]
    run = libraries.own_packages([files])
    own = [frame for frame, file in zip(python, files, strict=True) if libraries.is_own(file, run)]
    outside = (f for f, file in zip(python, files, strict=True) if libraries.origin(file).package != "torch")
    chosen = next(iter(own), None) or next(outside, None)
    if chosen is None:
        return None
    return as_text(chosen["filename"]), as_number(chosen["line"]), as_text(chosen["name"])
