"""Does any test fail now and then? `python -m benchmarks.repeated_tests` repeats the tests that time could decide.

These are the tests of `make test` that start processes or wait for something (FOLDERS), as `make test` runs them,
beside busy processes. Each repetition is a line in benchmarks/repeated_tests.jsonl, with the tests that failed, commit
and load; an interrupted measurement goes on where it stopped, and repetitions of another engine do not count.

Exit status 1 if any test failed in any repetition, 2 if pytest itself could not run, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from benchmarks import ledger, measured
from benchmarks.healthy_runs import busy
from benchmarks.ledger import Ledger, Task

RESULTS = measured.ROOT / "benchmarks" / "repeated_tests.jsonl"
#: where tests start processes, threads or servers, or wait for one
FOLDERS = (
    "tests/e2e",
    *(f"tests/unit/{name}" for name in ("cli", "collect", "launch", "meeting", "notify", "observe", "probe")),
)
#: pytest's exit statuses for "all passed" and "some failed"
_PASSED, _FAILED = 0, 1
#: seconds in which pytest may end its jobs
_GRACE = 30.0


@dataclass(frozen=True, slots=True)
class Repetition:
    """All of these tests, once."""

    number: int
    passed: int
    #: ids of the tests that failed, or broke in their setup or teardown
    failed: tuple[str, ...]
    seconds: float
    #: busy processes beside it, and the load average of the machine (1 minute) when it ended
    load: int
    load_average: float
    engine: str
    commit: str

    @property
    def key(self) -> str:
        return f"repetition/{self.number}"

    @property
    def is_miss(self) -> bool:
        return bool(self.failed)

    def in_words(self) -> str:
        said = f"FAILED {', '.join(self.failed)}" if self.failed else "ok"
        return f"{said}; {self.passed} passed, {self.seconds:.0f} s, load average {self.load_average:.1f}"


def repeat(number: int, load: int, workers: int, folder: Path, stop: threading.Event) -> Repetition:
    """Run the tests once. Raises RuntimeError if pytest could not run them."""
    folder.mkdir(parents=True)
    results = folder / "results.xml"
    options = ["-q", "-n", str(workers), "--dist", "worksteal", "-m", "not slow"]
    kept = [f"--junitxml={results}", f"--basetemp={folder / 'tests'}", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *kept, *FOLDERS]
    began = time.monotonic()
    with (folder / "output.txt").open("wb") as out:
        process = subprocess.Popen(command, cwd=measured.ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        while process.poll() is None:
            if stop.wait(0.5):
                _end(process)
    if not stop.is_set() and process.returncode not in (_PASSED, _FAILED):
        raise RuntimeError(f"pytest ended with status {process.returncode}: see {folder / 'output.txt'}")
    passed, failed = (0, ()) if stop.is_set() else outcomes(results.read_text(encoding="utf-8"))
    seconds, average = time.monotonic() - began, round(os.getloadavg()[0], 1)
    return Repetition(number, passed, failed, seconds, load, average, measured.engine(), measured.commit())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End pytest as Ctrl-C does, so that its jobs end, too; SIGINT may be ignored, as in a script's background."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()


def outcomes(junit: str) -> tuple[int, tuple[str, ...]]:
    """How many tests passed, and which did not, of pytest's JUnit file. Raises ET.ParseError."""
    passed, failed = 0, []
    for case in ET.fromstring(junit).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif "skipped" not in kinds:
            passed += 1
    return passed, tuple(failed)


def summary(runs: Sequence[Repetition]) -> str:
    """What was found so far, and how often each test failed."""
    often = Counter(test for one in runs for test in one.failed)
    loaded = sum(bool(one.load) for one in runs)
    lines = [f"{len(runs)} repetitions, {loaded} beside busy processes; tests that failed: {len(often)}"]
    return "\n".join([*lines, *(f"  {test}: {times} of {len(runs)}" for test, times in often.most_common())])


def results(file: Path = RESULTS, *, fresh: bool = False) -> Ledger[Repetition]:
    """The repetitions with the present engine."""
    return Ledger(file, _decode, fresh=fresh)


def _decode(told: dict[str, Any]) -> Repetition:
    return Repetition(**{**told, "failed": tuple(told["failed"])})


def main() -> int:
    args = _arguments()
    kept = results(fresh=args.fresh)
    make = [functools.partial(repeat, number, args.load, args.workers) for number in range(args.times)]
    todo = [Task(f"repetition/{number}", kept, one) for number, one in enumerate(make)]
    # whoever ends this program has its tests ended, too
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = 0
    with busy(args.load):
        try:
            ledger.run(todo, 1, args.until)
        except KeyboardInterrupt:
            status = 130
        except RuntimeError as error:
            print(f"repeated tests: {error}", file=sys.stderr)
            status = 2
    print(summary(kept.results))
    return status or (1 if any(one.failed for one in kept.results) else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="repetitions (default: 20)")
    parser.add_argument(
        "--load", type=int, default=1, metavar="N", help="keep N processors busy beside them (default: 1)"
    )
    parser.add_argument("--workers", type=int, default=6, help="tests at a time (default: 6, as `make test`)")
    parser.add_argument("--until", type=float, metavar="MINUTES", help="begin no repetition after so many minutes")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier repetitions have found")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
