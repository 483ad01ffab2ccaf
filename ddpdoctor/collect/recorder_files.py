"""Impure. Flight Recorder files of a job that nobody wrapped: what torch has written, or writes when asked by its pipe.

Only NCCL and its relatives write files and make a pipe; gloo keeps its recorder to itself. (Read from torch 2.3 to
2.13: `DebugInfoWriter::getWriter` and `DumpPipe`.) Which files those are is in the environment that the process was
started with; what the program sets later is not seen.

A process that is asked works for its answer: it looks up names and writes. So a rank is asked only after the samples
that show whether it moves, and a file that somebody else made it write meanwhile is noticed.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Rank, RankSet, Role, Worker

#: what the path of a file starts with, the rank follows; the first that is set counts
_STEMS = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
#: the same of the pipe: the rank and `.pipe` follow
_PIPE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
_READ = frozenset({*_STEMS, _PIPE, "XDG_CACHE_HOME", "HOME"})
#: where torch writes if no variable says so: from 2.8 on below the cache folder, before that here
_OLD_DEFAULT = "/tmp/nccl_trace_rank_"
_NEW_DEFAULT = "torch/comm_lib_trace_rank_"
#: seconds in which a file has to be there after the pipe was written to: torch reads it once a second, and the first
#: time the names of all frames are looked up
PATIENCE = 15.0
#: seconds between two looks for it
_PAUSE = 0.1
#: seconds by which a file's time may be early against the process's start, which is known to a hundredth
_CLOCK_ERROR = 0.05
_MOST_BYTES = 64 << 20
#: seconds that lie between the files of one event at most: torch tells all ranks when one of them writes its file
_TOGETHER = 60.0
#: age in seconds from which on a file's age is told
_OLD = 60.0
#: seconds in which one file has to be read
_READING = 10.0
#: reads a dump in a process with limits, as it may be crafted
_READER = (sys.executable, "-m", "ddpdoctor.archive.recorder_json")


@dataclass(frozen=True, slots=True)
class _Found:
    """One version of a file."""

    data: bytes
    mtime_ns: int

    @property
    def written(self) -> float:
        """Seconds since the epoch."""
        return self.mtime_ns / 1e9


@dataclass(frozen=True, slots=True)
class Recorders:
    """What the ranks' recorders gave."""

    #: pid -> recorder as JSON, of ranks that have a file or a pipe
    parts: Mapping[int, bytes | Gap]
    #: what a reader has to know of their age
    notes: tuple[str, ...] = ()


def collect(workers: Iterable[Worker], proc: Path = Path("/proc"), patience: float = PATIENCE) -> Recorders:
    """The recorders of all ranks. All are asked at the same time, each once."""
    ranks = [worker for worker in workers if worker.role is Role.RANK]
    with ThreadPoolExecutor(max(1, len(ranks)), thread_name_prefix="ddpdoctor-recorder") as pool:
        found = pool.map(lambda worker: _fetch(worker, proc / str(worker.pid), patience), ranks)
        taken = [(worker, one) for worker, one in zip(ranks, found, strict=True) if one is not None]
        newest = max((one.written for _, one in taken if isinstance(one, _Found)), default=0.0)
        parts = pool.map(lambda pair: _part(pair[0], pair[1], newest), taken)
        by_pid = {worker.pid: part for (worker, _), part in zip(taken, parts, strict=True)}
    return Recorders(by_pid, tuple(_ages(taken, by_pid)))


def wrote_since(workers: Iterable[Worker], moment: float, proc: Path = Path("/proc")) -> bool:
    """Whether a rank's recorder has written a file since `moment`, seconds since the epoch: late, for somebody who
    asked before, or because of a time limit. What the process did meanwhile may have been that alone."""
    ranks = [(worker, proc / str(worker.pid)) for worker in workers if worker.role is Role.RANK]
    return any(_modified(file, process) >= moment for worker, process in ranks for file in _files(worker, process))


def _modified(file: Path, process: Path) -> float:
    """When a regular file of the process's own user was last written, 0 if it is none."""
    with suppress(OSError):
        seen = os.lstat(file)
        if stat.S_ISREG(seen.st_mode) and _is_own(seen, process):
            return seen.st_mtime
    return 0.0


def _part(worker: Worker, found: _Found | Gap, newest: float) -> bytes | Gap:
    """The recorder as JSON. Files of two events tell nothing when they are compared: only the newest are taken."""
    if isinstance(found, Gap):
        return found
    if newest - found.written > _TOGETHER:
        age, later = _span(time.time() - found.written), _span(newest - found.written)
        return _gap(worker, f"its file was written {age} ago, {later} before another rank's: left aside")
    return _as_json(worker, found.data)


def _ages(taken: Iterable[tuple[Worker, _Found | Gap]], parts: Mapping[int, bytes | Gap]) -> Iterator[str]:
    """Which files are old: the job may have moved on since."""
    ranks: dict[str, list[Rank]] = {}
    for worker, found in taken:
        if worker.rank is not None and isinstance(found, _Found) and isinstance(parts[worker.pid], bytes):
            age = time.time() - found.written
            if age > _OLD:
                ranks.setdefault(_span(age), []).append(worker.rank)
    for span, old in ranks.items():
        one = len(old) == 1
        files = f"file of rank {RankSet.of(old)} was" if one else f"files of ranks {RankSet.of(old)} were"
        yield f"the recorder {files} written {span} ago: what came since is not in {'it' if one else 'them'}"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _fetch(worker: Worker, process: Path, patience: float) -> _Found | Gap | None:
    files = _files(worker, process)
    stem = _environ(process).get(_PIPE, "") if files else ""
    before = _newest(files, worker, process)
    if not stem or not _ask(_as_seen_by(process, f"{stem}{worker.rank}.pipe"), process):
        return before
    found = _written_since(before, files, worker, process, patience)
    if found is not None:
        return found
    left = f"; the one of {_span(time.time() - before.written)} ago is left aside" if before else ""
    return _gap(worker, f"the recorder's pipe was written to, and no file came within {patience:g} s{left}")


def _files(worker: Worker, process: Path) -> list[Path]:
    """Where torch may write the rank's file, as seen from here."""
    environ = _environ(process)
    if worker.rank is None or not environ:
        return []
    return [_as_seen_by(process, stem + str(worker.rank)) for stem in _stems(environ)]


def _environ(process: Path) -> Mapping[str, str]:
    try:
        pairs = (process / "environ").read_bytes().decode(errors="surrogateescape").split("\0")
    except OSError:
        return {}
    split = (pair.partition("=") for pair in pairs)
    return {name: value for name, _, value in split if name in _READ}


def _stems(environ: Mapping[str, str]) -> Iterator[str]:
    told = next((environ[name] for name in _STEMS if environ.get(name)), None)
    if told is not None:
        yield told
        return
    cache = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME') or '/tmp'}/.cache"
    yield f"{cache}/{_NEW_DEFAULT}"
    yield _OLD_DEFAULT


def _as_seen_by(process: Path, name: str) -> Path:
    """The path from here: the process may live in a container, and in another folder."""
    return process / "root" / name.lstrip("/") if name.startswith("/") else process / "cwd" / name


def _ask(pipe: Path, process: Path) -> bool:
    """Ask for a dump; whether there is a pipe of the process's own user that somebody reads."""
    try:
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        seen = os.fstat(descriptor)
        return stat.S_ISFIFO(seen.st_mode) and _is_own(seen, process) and os.write(descriptor, b"1") == 1
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _written_since(
    before: _Found | None, files: list[Path], worker: Worker, process: Path, patience: float
) -> _Found | None:
    """The first complete file that is newer than `before`: one that is as it was a moment ago."""
    deadline = time.monotonic() + patience
    last = None
    while time.monotonic() < deadline:
        now = _newest(files, worker, process)
        if now is not None and now.data and now == last and (before is None or now.mtime_ns > before.mtime_ns):
            return now
        last = now
        time.sleep(_PAUSE)
    return None


def _newest(files: list[Path], worker: Worker, process: Path) -> _Found | None:
    """The newest file of this process's life, None if there is none."""
    found = (read for file in files if (read := _read(file, process)))
    own = [one for one in found if one.mtime_ns >= (worker.started - _CLOCK_ERROR) * 1e9]
    return max(own, key=lambda one: one.mtime_ns, default=None)


def _read(file: Path, process: Path) -> _Found | None:
    """A regular file of the process's own user. Who may look into the job of others reads nothing else for them."""
    with suppress(OSError):
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as opened:
            seen = os.fstat(descriptor)
            if stat.S_ISREG(seen.st_mode) and _is_own(seen, process) and seen.st_size <= _MOST_BYTES:
                return _Found(opened.read(_MOST_BYTES), seen.st_mtime_ns)
    return None


def _is_own(seen: os.stat_result, process: Path) -> bool:
    return seen.st_uid == process.stat().st_uid


def _as_json(worker: Worker, data: bytes) -> bytes | Gap:
    try:
        done = subprocess.run(_READER, input=data, capture_output=True, timeout=_READING, check=False, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        return _gap(worker, f"the recorder's file could not be read: {type(error).__name__}")
    if done.returncode or not done.stdout:
        return _gap(worker, "the recorder's file is damaged or no dump of a recorder")
    return done.stdout


def _gap(worker: Worker, reason: str) -> Gap:
    return Gap(Source.RECORDER, worker.rank, reason)
