"""What the meeting of watchers costs a healthy job: `python -m benchmarks.meeting_cost [PAIRS]`.

A job trains on two nodes (namespaces of this machine, tests/e2e/nodes.py) under a watcher each. Blocks in which the
helpers that hold the connections run alternate with blocks in which they are stopped; the steps of both are counted.
Printed: the median ratio of the steps' durations with its 95 % interval, and what share of a core the helpers, while
they run, and the watchers took. Exit status 1 if the interval lies above 1.01, or if a helper took more than 0.1 % of a
core.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from tests.e2e.job import STARTUP
from tests.e2e.nodes import Nodes, nodes

PROGRAM = Path(__file__).parents[1] / "tests" / "e2e" / "programs" / "steps.py"
#: seconds of a block
BLOCK = 1.5
MOST_RATIO, MOST_SHARE = 1.01, 0.001


def main() -> int:
    return figures.tell(measure(figures.count(20)))


def measure(pairs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, nodes(Path(folder), 2) as lab:
        seconds = 2 * BLOCK * pairs + 60.0
        lab.torchrun(PROGRAM, 1, arguments=[str(seconds), "--count", f"{folder}/steps"])
        helpers = _helpers(lab)
        time.sleep(3.0)
        watchers = _processes("-m ddpdoctor watch", folder)
        before, began = [_spent(p) for p in (*helpers, *watchers)], time.monotonic()
        ratios = [_pair(Path(folder) / "steps", helpers, first=bool(number % 2)) for number in range(pairs)]
        spent = [_spent(p) - b for p, b in zip((*helpers, *watchers), before, strict=True)]
        shares = [one / (time.monotonic() - began) for one in spent]
    # the helpers are stopped half of the time
    of_helpers, of_watchers = [2 * one for one in shares[: len(helpers)]], shares[len(helpers) :]
    return [
        figures.paired("a step beside a helper that holds the connection", [ratios], limit=MOST_RATIO),
        figures.repeated("a helper's share, by node", of_helpers, Unit.SHARE, MOST_SHARE),
        figures.repeated("a watcher's share, by node", of_watchers, Unit.SHARE),
    ]


def _helpers(lab: Nodes) -> list[psutil.Process]:
    """The helpers of both nodes, as soon as they are connected."""

    def found() -> list[psutil.Process]:
        return [p for p in _processes("store_helper.py", "") if p.nice() > 15]

    assert lab.until(lambda: len(found()) == len(lab.nodes), STARTUP), lab.explain()
    return found()


def _pair(steps: Path, helpers: list[psutil.Process], *, first: bool) -> float:
    """The duration of a step while the helpers run as a multiple of that while they are stopped."""
    taken: dict[bool, float] = {}
    for running in (first, not first):
        for helper in helpers:
            helper.send_signal(signal.SIGCONT if running else signal.SIGSTOP)
        count, began = steps.stat().st_size, time.monotonic()
        time.sleep(BLOCK)
        taken[running] = (time.monotonic() - began) / (steps.stat().st_size - count)
    for helper in helpers:
        helper.send_signal(signal.SIGCONT)
    return taken[True] / taken[False]


def _spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _processes(words: str, folder: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if words in line and folder in line:
                found.append(process)
    return found


if __name__ == "__main__":
    sys.exit(main())
