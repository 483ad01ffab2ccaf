"""Is any healthy job stopped? `python -m benchmarks.healthy_runs` runs healthy jobs under `ddpdoctor watch`.

Half of the runs have `--stall-after 8 --on-hang stop` (5 seconds for programs whose unusual work is as much shorter),
the others the defaults. Each result is appended to benchmarks/healthy_runs.jsonl at once, with its seed, commit, load
and a hash of the engine; an interrupted measurement goes on where it stopped, and results of another engine do not
count.

Exit status 1 if a healthy job was stopped, called a hang or a crash, called anything with certainty, or did not end
with status 0; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

from benchmarks import healthy, ledger
from benchmarks.healthy import HealthyRun

#: keeps one processor busy until its parent is gone
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(10**6))"


def main() -> int:
    args = _arguments()
    results = healthy.ledger(fresh=args.fresh)
    every = healthy.tasks(args.seeds, results, args.load)
    todo = [task for task in every if args.only in task.key and not (args.without and args.without in task.key)]
    # whoever ends this program has its jobs ended, too
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = 0
    with busy(args.load):
        try:
            ledger.run(todo, args.jobs, args.until)
        except KeyboardInterrupt:
            status = 130
    print(summary(results.results))
    return status or (1 if any(one.alarm for one in results.results) else 0)


def summary(runs: Sequence[HealthyRun]) -> str:
    """What was found so far, and every false alarm."""
    loaded, stopping = sum(bool(one.load) for one in runs), sum(one.stopping for one in runs)
    alarms = [one for one in runs if one.alarm]
    lines = [
        f"{len(runs)} runs of {len({one.kind for one in runs})} kinds, {stopping} with --on-hang stop, {loaded} beside "
        f"busy processes; called slow: {sum(one.slow for one in runs)}; aborted by torch itself at a rank's end: "
        f"{sum(one.aborted for one in runs)}; false alarms: {len(alarms)}",
        *(f"  {one.key}: {one.in_words()}" for one in alarms),
    ]
    return "\n".join(lines)


@contextlib.contextmanager
def busy(number: int) -> Iterator[None]:
    """Keep `number` processors busy meanwhile."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True) for _ in range(number)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=14, help="runs of each kind of healthy job (default: 14)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="keep N processors busy beside them")
    parser.add_argument("--until", type=float, metavar="MINUTES", help="begin no run after so many minutes")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs with this text in their key")
    parser.add_argument("--without", default="", metavar="TEXT", help="no runs with this text in their key")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have found")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
