"""Every way to make a small pickle big, slow or deep gives one line, within the limits on memory and time.

No opcode is counted before it is run: pickletools takes eight times as long as reading does. What bounds a file is the
process that reads it.
"""

from __future__ import annotations

import resource
import struct
import time
from array import array
from pathlib import Path

import pytest

from ddpdoctor.archive import parallel_dumps, resource_limits
from ddpdoctor.archive.fragment import Format
from ddpdoctor.archive.input_files import InputFile
from ddpdoctor.archive.rank_from_filename import rank_of

OLD, NEW = b"\x80\x02", b"\x80\x05"
MANY = 2_000_000
#: what this test lets a reading process have beside its own memory, and for how long
MEMORY = 512 << 20
SECONDS = 0.5


def text(value: bytes, claimed: int | None = None) -> bytes:
    return b"X" + struct.pack("<I", len(value) if claimed is None else claimed) + value


def puts(number: int) -> bytes:
    """Opcodes that put something into the memo, at each index; by columns, since one by one takes a second."""
    indices, opcodes = array("I", range(number)).tobytes(), bytearray(b"r\0\0\0\0" * number)
    for column in range(4):
        opcodes[1 + column :: 5] = indices[column::4]
    return bytes(opcodes)


HOSTILE = {
    "index of a memo": OLD + b"}r\xff\xff\xff\x7f.",
    "length of a bytearray": NEW + b"\x96" + struct.pack("<Q", 1 << 40) + b".",
    "length of a number": OLD + b"\x8b" + struct.pack("<i", 1 << 30) + b"\x01.",
    "negative length": OLD + b"\x8b" + struct.pack("<i", -5) + b"\x01.",
    "length of a text": OLD + text(b"abc", 0xFFFFFFFF) + b".",
    "length of a long text": NEW + b"\x8d" + struct.pack("<Q", 1 << 62) + b"abc.",
    "length of bytes": NEW + b"\x8e" + struct.pack("<Q", 1 << 50) + b"abc.",
    "length of a frame": NEW + b"\x95" + struct.pack("<Q", 1 << 60) + b"}.",
    "one put, often": OLD + b"}" + b"q\x00" * MANY + b".",
    "many puts": OLD + b"}" + puts(MANY) + b".",
    "nested tuples": OLD + b")" + b"\x85" * MANY + b".",
    "nested tuples as a key": OLD + b"})" + b"\x85" * MANY + b"K\x01s.",
    "lists": OLD + b"]" * MANY + b".",
    "marks": OLD + b"(" * MANY + b".",
    "duplicates": OLD + b"}" + b"2" * MANY + b".",
    "a buffer out of band": NEW + b"\x97.",
    "a read-only buffer": NEW + b"\x97\x98.",
    "2^60 leaves": OLD + b"]K\x01a" + b"q\x00]h\x00ah\x00a" * 60 + b".",
    "2^60 leaves as entries": OLD + b"}" + text(b"entries") + b"]K\x01a" + b"q\x00]h\x00ah\x00a" * 60 + b"s.",
    "2^60 leaves to hash": OLD + b"}K\x01" + b"q\x00h\x00\x86" * 60 + b"K\x01s.",
    "keys that collide": OLD
    + b"}("
    + b"".join(b"\x8a\x0c" + (number * ((1 << 61) - 1)).to_bytes(12, "little") + b"N" for number in range(60_000))
    + b"u.",
    "a list in itself": OLD + b"}" + text(b"entries") + b"]q\x01h\x01as.",
    "a dictionary in itself": OLD + b"}q\x00" + text(b"entries") + b"h\x00s.",
    "a number in decimal": OLD + b"L" + b"9" * MANY + b"L\n.",
    "a text of escapes": OLD + b"S'" + b"\\x41" * (MANY // 4) + b"'\n.",
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_it_is_named_and_bounded(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_limits, "MOST_MEMORY", MEMORY)
    monkeypatch.setattr(resource_limits, "MOST_SECONDS", SECONDS)
    path = tmp_path / "trace_rank_1"
    path.write_bytes(HOSTILE[name])
    own, begun = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
    dumps = parallel_dumps.read_all([InputFile(path.name, path, Format.RECORDER_PICKLE)], rank_of, processes=1)
    assert not dumps.members
    assert len(dumps.gaps) == 1
    reason = dumps.gaps[0].reason
    assert reason.startswith("trace_rank_1: ")
    assert "\n" not in reason
    assert len(reason) < 300
    # this process reads none of it
    assert time.process_time() - begun < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - own.ru_maxrss < MEMORY >> 13


def test_a_larger_file_may_take_longer(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    with large.open("wb") as file:
        file.truncate(100 << 20)
    allowed = [resource_limits.seconds_for(InputFile("x", path, Format.RECORDER_PICKLE)) for path in (small, large)]
    assert allowed[0] == pytest.approx(resource_limits.MOST_SECONDS, abs=0.01)
    assert allowed[1] == pytest.approx(resource_limits.MOST_SECONDS + 100 * resource_limits.SECONDS_PER_MB)
