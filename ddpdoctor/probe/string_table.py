"""The page's texts: an append-only log of JSON values, each preceded by its length, referred to by offset plus one.

A text is a name, a site [file, line, function], a group [name, description, runs of members], or a frame of a path
[position of its site, position of the frame that called it or 0].
"""

from __future__ import annotations

import json
import struct
from json.encoder import encode_basestring_ascii
from typing import Any

HEAD = struct.Struct("=I")
#: bounds the memory that a damaged page can make the reader use
MOST_MEMBERS = 1 << 18
MOST_FRAMES = 64
#: name of what stands for the groups that the log has no room for
UNNAMED = "?"


def encode(value: Any) -> str:
    """JSON of strings, numbers and tuples by C functions only: `json.dumps` has Python frames, which dynamo would
    trace."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, tuple):
        return "[" + ",".join([encode(item) for item in value]) + "]"
    return str(value)


def encode_members(members: list[int]) -> list[list[int]]:
    """Ranks as runs [first, count]: a group of thousands takes a few bytes, and its order is kept."""
    runs: list[list[int]] = []
    for member in members:
        if runs and member == runs[-1][0] + runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([member, 1])
    return runs


class StringTable:
    """The log of texts, each decoded once; invalid positions give None."""

    def __init__(self, log: bytes = b"") -> None:
        self._values: dict[int, Any] = {}
        self._budget = MOST_MEMBERS
        self._paths: dict[int, tuple[tuple[str, int, str], ...]] = {0: ()}
        #: bytes of the log that are decoded
        self.end = 0
        self.extend(log)

    def extend(self, log: bytes) -> None:
        """Decode what follows in the log, from `end` on; a text that is not complete yet is left for the next time."""
        at = 0
        while at + HEAD.size <= len(log):
            (length,) = HEAD.unpack_from(log, at)
            start = at + HEAD.size
            if length == 0 or start + length > len(log):
                break
            self._values[self.end + at + 1] = self._decode(log[start : start + length])
            at = start + length
        self.end += at

    def _decode(self, payload: bytes) -> Any:
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            return None
        match value:
            case [str(file), int(line), str(function)]:
                return (file, line, function)
            case [str(name), str(description), list(runs)]:
                members = self._members(runs)
                return None if members is None else (name, description, members)
            case [int(site), int(caller)]:
                return (site, caller)
            case str():
                return value
        return None

    def _members(self, runs: list[Any]) -> tuple[int, ...] | None:
        members: list[int] = []
        for run in runs:
            match run:
                case [int(first), int(count)] if 0 <= first < 1 << 31 and 0 < count <= self._budget:
                    self._budget -= count
                    members.extend(range(first, first + count))
                case _:
                    return None
        return tuple(members)

    def name(self, position: int) -> str | None:
        value = self._values.get(position)
        return value if isinstance(value, str) else None

    def site(self, position: int) -> tuple[str, int, str] | None:
        match self._values.get(position):
            case (str(file), int(line), str(function)):
                return (file, line, function)
        return None

    def group(self, position: int) -> tuple[str, str, tuple[int, ...]] | None:
        match self._values.get(position):
            case (str(name), str(description), tuple(members)):
                return (name, description, members)
        return None

    def path(self, position: int) -> tuple[tuple[str, int, str], ...]:
        """The frames of a path, innermost first; empty if one of them is not valid."""
        if position not in self._paths:
            self._paths[position] = tuple(self._frames(position))
        return self._paths[position]

    def _frames(self, position: int) -> list[tuple[str, int, str]]:
        found: list[tuple[str, int, str]] = []
        while position and len(found) < MOST_FRAMES:
            match self._values.get(position):
                # a caller is written before what it calls, so this ends
                case (int(at), int(caller)) if caller < position and (site := self.site(at)) is not None:
                    found.append(site)
                    position = caller
                case _:
                    return []
        return found

    def groups(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        found = dict.fromkeys(self.group(position) for position in self._values)
        return tuple(group for group in found if group is not None and group[0] != UNNAMED)
