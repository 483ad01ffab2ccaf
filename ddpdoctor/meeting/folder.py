"""Impure. A folder that all nodes see as a board, for jobs whose store nobody else can reach: `--shared DIR`.

One file for each key; what is claimed is linked into place, which only the first can do, also on NFS.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.meeting.board import Answer, Claimed, Found, Lost

#: files older than this watcher by so many seconds are of an earlier job of the same name
EARLIER = 300.0
#: a message has at most so many bytes
MOST_BYTES = 64 << 20

_BOARDS = itertools.count()


@dataclass(frozen=True, slots=True)
class _Gather:
    keys: tuple[str, ...]
    due: float


@dataclass(frozen=True, slots=True)
class _Claim:
    value: bytes


class FolderBoard:
    """The folder, as long as it can be read and written."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        #: tells our files from those of other boards
        self._name = f"{os.uname().nodename}.{os.getpid()}.{next(_BOARDS)}"
        self._lines = 0
        self._oldest = time.time() - EARLIER
        self._asked: deque[_Gather | _Claim] = deque()
        self._lost = ""

    def put(self, key: str, value: bytes) -> None:
        with self._or_lost():
            self._written(key, value).rename(self._path(key))

    def append(self, key: str, value: bytes) -> None:
        """A file of its own for each line, since two nodes that append to one file of NFS lose one."""
        with self._or_lost():
            path = self._path(key)
            self._lines += 1
            self._written(key, value).rename(path.with_name(f"{path.name}.{self._name}.{self._lines}.line"))

    def claim(self, key: str, value: bytes) -> None:
        with self._or_lost():
            written, path = self._written(key, value), self._path(key)
            if path.exists() and path.stat().st_mtime < self._oldest:
                path.unlink()
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(written)
            written.unlink()
            self._asked.append(_Claim(path.read_bytes()))

    def gather(self, keys: Iterable[str], within: float) -> None:
        self._asked.append(_Gather(tuple(keys), time.monotonic() + within))

    def poll(self, now: float) -> tuple[Answer, ...]:
        if self._lost:
            reason, self._lost = self._lost, ""
            return (Lost(reason),)
        answers: list[Answer] = []
        while self._asked:
            first = self._asked[0]
            if isinstance(first, _Claim):
                answers.append(Claimed(first.value))
            else:
                found = {key: value for key in first.keys if (value := self._read(key)) is not None}
                if len(found) < len(first.keys) and now < first.due:
                    break
                answers.append(Found(found))
            self._asked.popleft()
        return tuple(answers)

    def close(self) -> None:
        """What was left stays for whoever comes late."""

    @contextlib.contextmanager
    def _or_lost(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._lost = f"the shared folder {self._folder}: {error.strerror or error}"

    def _path(self, key: str) -> Path:
        return self._folder / key.replace("/", "_")

    def _written(self, key: str, value: bytes) -> Path:
        path = self._path(key).with_name(f".{key.replace('/', '_')}.{self._name}")
        path.write_bytes(value)
        return path

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        lines = [data for one in sorted(self._folder.glob(f"{path.name}.*.line")) if (data := self._bytes(one))]
        return b"".join(lines) if lines else self._bytes(path)

    def _bytes(self, path: Path) -> bytes | None:
        """What a file of this job holds; None if there is none."""
        with contextlib.suppress(OSError):
            state = path.stat()
            if state.st_mtime >= self._oldest and state.st_size <= MOST_BYTES:
                return path.read_bytes()
        return None
