"""Impure. Paths -> files with their formats: walks folders, opens compressed files, recognises bundles."""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ddpdoctor.archive import file_format
from ddpdoctor.archive.fragment import Format
from ddpdoctor.collect import bundle
from ddpdoctor.errors import InputError
from ddpdoctor.model import json_text

MOST_FILES = 200_000
#: bytes that are read of one file; of a longer log, the beginning and the end
MOST_BYTES = 256 << 20
_MOST_TEXT = 64 << 20
_BEGINNING = 1 << 20
#: bytes of a compressed log that are decompressed to reach its end; bounds the time to some seconds
_MOST_INFLATED = 2 << 30
#: folders that hold no evidence
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv", "site-packages"})
#: a project's own files, which may quote logs; they are read only if named explicitly
_SOURCES = (".py", ".pyc", ".pyi", ".ipynb", ".md", ".rst", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".sh", ".so")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that can be read; `path` is None for standard input, whose bytes are in `data`."""

    name: str
    path: Path | None
    format: Format
    compressed: bool = False
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Everything under the given paths."""

    files: tuple[InputFile, ...]
    bundles: tuple[Path, ...]
    #: names of files whose format is not supported
    unknown: tuple[str, ...]
    #: name -> why it could not be read
    unreadable: tuple[tuple[str, str], ...]


def find(paths: Sequence[str], stdin: BinaryIO) -> InputFiles:
    """Inspect every path; `-` is standard input. Raises InputError for a path that does not exist."""
    files: list[InputFile] = []
    bundles: list[Path] = []
    unknown: list[str] = []
    unreadable: list[tuple[str, str]] = []
    for given in paths:
        if given == "-":
            data = stdin.read(MOST_BYTES)
            kind = file_format.detect(data[: file_format.HEAD])
            files.append(InputFile("standard input", None, kind or Format.TEXT, data=data))
            continue
        for path, name in _walk(Path(given), bundles):
            try:
                found = _look(path, name)
            except (OSError, EOFError, zlib.error) as error:
                unreadable.append((name, getattr(error, "strerror", None) or str(error) or type(error).__name__))
                continue
            if found is not None:
                files.append(found)
            else:
                unknown.append(name)
    return InputFiles(tuple(files), tuple(bundles), tuple(unknown), tuple(unreadable))


def _walk(given: Path, bundles: list[Path]) -> Iterator[tuple[Path, str]]:
    """The files under a path with their display names, in a stable order; bundles are collected separately."""
    if not given.exists():
        raise InputError(f"{given}: no such file or folder", hint="give dumps, stacks, logs or a folder of them")
    if not given.is_dir():
        yield given, given.name
        return
    seen = 0
    for folder, folders, names in os.walk(given):
        here = Path(folder)
        if _is_bundle(here):
            bundles.append(here)
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        for name in sorted(name for name in names if not name.endswith(_SOURCES)):
            seen += 1
            if seen > MOST_FILES:
                raise InputError(f"{given} holds more than {MOST_FILES} files", hint="give the job's own folder")
            yield here / name, str((here / name).relative_to(given))


def _is_bundle(folder: Path) -> bool:
    try:
        with open(folder / bundle.MANIFEST, "rb") as file:
            head = file.read(200)
    except OSError:
        return False
    return b'"ddpdoctor.bundle/' in head


def _look(path: Path, name: str) -> InputFile | None:
    """The file with its format; None if the format is not supported."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        return None
    with path.open("rb") as file:
        head = file.read(file_format.HEAD)
    compressed = head.startswith(file_format.GZIP)
    if compressed:
        with path.open("rb") as file:
            head = inflate(file, file_format.HEAD)
    if not head.strip():
        return InputFile(name, path, Format.TEXT, compressed) if status.st_size == 0 else None
    kind = file_format.detect(head)
    return None if kind is None else InputFile(name, path, kind, compressed)


def read_content(file: InputFile) -> tuple[bytes, str]:
    """A file's bytes, and a note on what was left out ("" for nothing). Raises OSError, EOFError, zlib.error.

    Of a text longer than 64 MB the first and the last part are read: how a job ended is at the end.
    """
    if file.path is None:
        return file.data, ""
    most = _MOST_TEXT if file.format is Format.TEXT else MOST_BYTES
    with file.path.open("rb") as opened:
        if file.compressed and file.format is Format.TEXT:
            return _inflated_text(opened)
        if file.compressed:
            data = inflate(opened, most + 1)
            cut = f"only the first {most >> 20} MB were read" if len(data) > most else ""
            return data[:most], cut
        size = os.fstat(opened.fileno()).st_size
        if size <= most:
            return opened.read(size), ""
        if file.format is not Format.TEXT:
            raise OSError(None, f"it is larger than {most >> 20} MB")
        data = opened.read(_BEGINNING)
        opened.seek(size - (most - _BEGINNING))
        last = opened.read(most - _BEGINNING).partition(b"\n")[2]
        return data + b"\n" + last, f"only its first and last {most >> 20} MB were read"


def _inflated_text(file: BinaryIO) -> tuple[bytes, str]:
    """The content of a compressed log; of a long one the beginning and the end, which requires decompressing all of
    it."""
    first, last, length, total = io.BytesIO(), deque[bytes](), 0, 0
    for part in _inflated(file, _MOST_INFLATED):
        total += len(part)
        if first.tell() < _BEGINNING:
            first.write(part)
            continue
        last.append(part)
        length += len(part)
        while length - len(last[0]) > _MOST_TEXT - _BEGINNING:
            length -= len(last.popleft())
    if first.tell() + length == total:
        return first.getvalue() + b"".join(last), ""
    cut = f"only its first and last {_MOST_TEXT >> 20} MB were read"
    if total >= _MOST_INFLATED:
        cut = f"of its first {_MOST_INFLATED >> 20} MB {cut.removeprefix('only ')}; the rest was not read"
    return first.getvalue() + b"\n" + b"".join(last).partition(b"\n")[2], cut


def inflate(file: BinaryIO, most: int) -> bytes:
    """At most `most` bytes of a gzip file, since a small file can expand to very many. Raises zlib.error."""
    return b"".join(_inflated(file, most))


def _inflated(file: BinaryIO, most: int) -> Iterator[bytes]:
    """The decompressed parts of a gzip file with one or more members; a truncated one ends early. Raises zlib.error."""
    decoder, left = zlib.decompressobj(wbits=31), most
    while left > 0:
        chunk = (decoder.unused_data if decoder.eof else decoder.unconsumed_tail) or file.read(1 << 16)
        if decoder.eof:
            if not chunk.startswith(file_format.GZIP):
                return
            decoder = zlib.decompressobj(wbits=31)
        if not chunk:
            return
        part = decoder.decompress(chunk, min(left, 1 << 20))
        left -= len(part)
        if part:
            yield part


def is_report(data: bytes) -> bool:
    """Whether the data is a report of ddpdoctor itself, which is not evidence."""
    try:
        loaded = json_text.parsed(data)
    except ValueError:
        return False
    return isinstance(loaded, dict) and str(loaded.get("schema", "")).startswith("ddpdoctor.")
