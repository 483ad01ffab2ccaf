"""Impure. Paths -> files and what they are: folders are walked, compressed files opened, bundles recognised."""

from __future__ import annotations

import io
import json
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

MOST_FILES = 200_000
#: bytes of one file that are read; of a longer log its beginning and, mostly, its end
MOST_BYTES = 256 << 20
_MOST_TEXT = 64 << 20
_BEGINNING = 1 << 20
#: bytes of a compressed log that are gone through for its end: some seconds, whatever a small file claims to hold
_MOST_INFLATED = 2 << 30
#: folders that no job writes evidence to
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv", "site-packages"})
#: a project's own files, which quote logs without being any; one that is named itself is read all the same
_SOURCES = (".py", ".pyc", ".pyi", ".ipynb", ".md", ".rst", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".sh", ".so")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that can be read; `path` is None for what came over standard input, which `data` then holds."""

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
    #: names of files of no kind that we know
    unknown: tuple[str, ...]
    #: name -> why it could not be read
    unreadable: tuple[tuple[str, str], ...]


def find(paths: Sequence[str], stdin: BinaryIO) -> InputFiles:
    """Look at every path; `-` is standard input. Raises InputError for a path that is not there."""
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
    """Files of a path with the names that a report shows, in a steady order; bundles are put aside."""
    if not given.exists():
        raise InputError(f"{given}: no such file or folder", hint="name dumps, stacks, logs or a folder of them")
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
                raise InputError(f"{given} holds more than {MOST_FILES} files", hint="name the job's own folder")
            yield here / name, str((here / name).relative_to(given))


def _is_bundle(folder: Path) -> bool:
    try:
        with open(folder / bundle.MANIFEST, "rb") as file:
            head = file.read(200)
    except OSError:
        return False
    return b'"ddpdoctor.bundle/' in head


def _look(path: Path, name: str) -> InputFile | None:
    """What a file is; None for a kind that we do not know."""
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
    """A file's bytes, and what was left out of them ("" for nothing). Raises OSError, EOFError, zlib.error.

    Of a text that is longer than 64 MB the first and the last part: how a job ended stands at the end.
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
    """A compressed log; of a long one its beginning and its end, which is found only by reading all between."""
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
        cut = f"of its first {_MOST_INFLATED >> 20} MB {cut.removeprefix('only ')}; the rest was not looked at"
    return first.getvalue() + b"\n" + b"".join(last).partition(b"\n")[2], cut


def inflate(file: BinaryIO, most: int) -> bytes:
    """At most so many bytes of a gzip file: a small file can hold very many. Raises zlib.error."""
    return b"".join(_inflated(file, most))


def _inflated(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Parts of a gzip file, which may be several in a row; one that is cut off ends early. Raises zlib.error."""
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
    """One of our own reports: what we said is no evidence."""
    try:
        loaded = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(loaded, dict) and str(loaded.get("schema", "")).startswith("ddpdoctor.")
