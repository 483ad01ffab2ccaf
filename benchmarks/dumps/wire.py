"""Pickles byte for byte as torch's C++ writes them (protocol 2; texts and shared stack frames once, by memo).

Measured against `_dump_fr_trace` of torch 2.13: containers are not memoized but the dump itself, a frame is if another
entry has it too, and every text is, at its first use.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

#: numbers that differ from one entry to the next of the same call
_COUNTED = (
    "record_id",
    "collective_seq_id",
    "p2p_seq_id",
    "op_id",
    "time_created_ns",
    "time_discovered_completed_ns",
)


class Writer:
    """One dump being written."""

    def __init__(self) -> None:
        self._texts: dict[str, bytes] = {}
        self._shared: dict[int, bytes] = {}
        self._uses: Counter[int] = Counter()
        self._memo = 0
        self._templates: dict[object, list[bytes]] = {}

    def dump(self, head: Mapping[str, Any], entries: Sequence[tuple[object, Mapping[str, Any]]]) -> bytes:
        """A whole dump; entries come with a key that is the same where they differ in counted numbers only."""
        self._uses.update(id(frame) for _, entry in entries for frame in entry.get("frames", ()))
        parts = [b"\x80\x02}("]
        for key, value in head.items():
            parts += [self._text(key), self._value(value)]
        parts += [self._text("entries"), b"]("]
        parts += [self._entry(key, entry) for key, entry in entries]
        parts += [b"eu", self._put(), b"."]
        return b"".join(parts)

    def _entry(self, key: object, entry: Mapping[str, Any]) -> bytes:
        template = self._templates.get(key)
        if template is None:
            written = self._pieces(entry)
            # the first use of a text writes it, later ones refer to it
            self._templates[key] = self._pieces(entry)
            return self._filled(written, entry)
        return self._filled(template, entry)

    def _pieces(self, entry: Mapping[str, Any]) -> list[bytes]:
        """The entry's bytes between its counted numbers."""
        pieces, current = [], [b"}("]
        for key, value in entry.items():
            current.append(self._text(key))
            if key in _COUNTED:
                pieces.append(b"".join(current))
                current = []
            else:
                current.append(self._frames(value) if key == "frames" else self._value(value))
        return [*pieces, b"".join([*current, b"u"])]

    def _filled(self, pieces: list[bytes], entry: Mapping[str, Any]) -> bytes:
        filled = [pieces[0]]
        for key, piece in zip(_COUNTED, pieces[1:], strict=True):
            filled += [self._value(entry[key]), piece]
        return b"".join(filled)

    def _frames(self, frames: Sequence[Mapping[str, Any]]) -> bytes:
        return b"".join([b"](", *(self._frame(frame) for frame in frames), b"e"])

    def _frame(self, frame: Mapping[str, Any]) -> bytes:
        known = self._shared.get(id(frame))
        if known is None:
            written = self._value(frame)
            if self._uses[id(frame)] == 1:
                return written
            self._shared[id(frame)] = _get(self._memo)
            return written + self._put()
        return known

    def _value(self, value: Any) -> bytes:
        if value is None:
            return b"N"
        if isinstance(value, bool):
            return b"\x88" if value else b"\x89"
        if isinstance(value, int):
            return number(value)
        if isinstance(value, float):
            return b"G" + struct.pack(">d", value)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, tuple):
            return b"".join([*map(self._value, value), b"\x86"])
        if isinstance(value, list):
            return b"".join([b"](", *map(self._value, value), b"e"])
        pairs = [part for key, inner in value.items() for part in (self._text(key), self._value(inner))]
        return b"".join([b"}(", *pairs, b"u"])

    def _text(self, text: str) -> bytes:
        known = self._texts.get(text)
        if known is None:
            encoded = text.encode()
            self._texts[text] = _get(self._memo)
            return b"X" + struct.pack("<I", len(encoded)) + encoded + self._put()
        return known

    def _put(self) -> bytes:
        self._memo += 1
        index = self._memo - 1
        return struct.pack("<cB", b"q", index) if index < 256 else struct.pack("<cI", b"r", index)


def _get(index: int) -> bytes:
    return struct.pack("<cB", b"h", index) if index < 256 else struct.pack("<cI", b"j", index)


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return struct.pack("<cB", b"K", value)
    if 0 <= value < 65536:
        return struct.pack("<cH", b"M", value)
    if -(1 << 31) <= value < 1 << 31:
        return struct.pack("<ci", b"J", value)
    return b"\x8a\x08" + struct.pack("<q", value)
