"""Runs that are made once: each result is a line of JSON in a file, and an interrupted measurement goes on from there.

A result says by which engine (benchmarks/measured.py) it was made. Results of another engine do not count, those runs
are made again, and the first new result takes their place: what such files say of the past is in their history.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from benchmarks import measured


class Result(Protocol):
    """What came of a run: a dataclass of plain values."""

    @property
    def key(self) -> str:
        """What the run is known by from one invocation to the next."""

    @property
    def engine(self) -> str:
        """The engine that made it."""

    @property
    def is_miss(self) -> bool:
        """Something did not come out as it should: its folder is kept."""

    def in_words(self) -> str:
        """One line on how it came out."""


R = TypeVar("R", bound=Result)


class Ledger(Generic[R]):
    """The results of the present engine, in the order of the file. `decode` reads what `dataclasses.asdict` wrote."""

    def __init__(self, file: Path, decode: Callable[[dict[str, Any]], R], *, fresh: bool = False) -> None:
        self.file = file
        if fresh:
            file.unlink(missing_ok=True)
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        found = [decode(json.loads(line)) for line in text.splitlines() if line]
        self._counting = {result.key: result for result in found if result.engine == measured.engine()}
        self._outdated = any(result.engine != measured.engine() for result in found)
        if self._outdated:
            print(f"results of another engine in {file} do not count", file=sys.stderr)

    @property
    def results(self) -> list[R]:
        return list(self._counting.values())

    def __contains__(self, key: str) -> bool:
        return key in self._counting

    def add(self, result: R) -> None:
        """Keep a result; it is in the file when this returns."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self._outdated:
            self.file.write_text("".join(map(_line, self._counting.values())), encoding="utf-8")
            self._outdated = False
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(_line(result))
        self._counting[result.key] = result


def _line(result: Result) -> str:
    return json.dumps(dataclasses.asdict(result)) + "\n"  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Task(Generic[R]):
    """One run that is to be made, and where its result belongs."""

    key: str
    ledger: Ledger[R]
    #: makes the run in a folder that does not exist yet; ends it, and returns anything, once the event is set
    make: Callable[[Path, threading.Event], R]


def run(tasks: Iterable[Task[Any]], jobs: int, minutes: float | None = None) -> None:
    """Make the runs that have no result, `jobs` at a time, and begin none after `minutes`.

    Ctrl-C ends the runs in progress, without results. What missed keeps its folder.
    """
    todo = [task for task in tasks if task.key not in task.ledger]
    print(f"{len(todo)} runs are to be made, {jobs} at a time", file=sys.stderr, flush=True)
    root, stop = Path(tempfile.mkdtemp(prefix="ddpdoctor-runs-")), threading.Event()
    progress = _Progress(len(todo))
    deadline = None if minutes is None else time.monotonic() + minutes * 60

    def one(task: Task[Any]) -> None:
        if stop.is_set() or (deadline is not None and time.monotonic() > deadline):
            return
        folder = root / task.key.replace("/", "-")
        result = task.make(folder, stop)
        if not stop.is_set():
            progress.tell(task, result, folder)

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, task) for task in todo]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class _Progress:
    """Keeps what comes, from any thread, and says it."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._done = 0
        self._lock = threading.Lock()

    def tell(self, task: Task[R], result: R, folder: Path) -> None:
        with self._lock:
            self._done += 1
            task.ledger.add(result)
            said = f"[{self._done}/{self._number}] {task.key}: {result.in_words()}"
            print(said, file=sys.stderr, flush=True)
            if result.is_miss:
                print(f"    see {folder}", file=sys.stderr, flush=True)
            else:
                shutil.rmtree(folder, ignore_errors=True)
