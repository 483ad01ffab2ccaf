"""Does anything go wrong that has not gone wrong by itself? `python -m benchmarks.chaos` strikes real jobs with faults.

Each run is one job of three ranks with data workers (or of two launchers that meet), in PID, mount, network and user
namespaces of its own, so that nothing outside can be hit and all that is left behind is seen (tests/e2e/chaos). A fault
comes at a moment that the seed decides. Healthy jobs run twice, with `ddpdoctor watch` and without it; in the others
rank 1 leaves the loop early, so that the job hangs.

What must hold, whatever happens:

- the job's exit status and output are those of the run that nobody watched;
- `watch` ends within LATE seconds after its launcher;
- no process and no run folder is left that would not be there without it;
- it never ends by an exception of its own;
- nobody is blamed but the rank that hangs the job, or the one that was struck.

Results are appended to benchmarks/chaos_runs.jsonl at once, with seed and commit; a measurement that was interrupted
goes on where it stopped. `--page` writes docs/chaos.md from them. Exit status 1 if anything of this did not hold, 130
after Ctrl-C.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ledger, measured
from benchmarks.ledger import Ledger, Task
from tests.e2e.chaos.faults import BY_NAME, FAULTS, Fault, Part
from tests.e2e.chaos.inside import LONGEST

PAGE = measured.ROOT / "docs" / "chaos.md"
RESULTS = measured.ROOT / "benchmarks" / "chaos_runs.jsonl"
NAMESPACES = [
    "unshare",
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child",
]
HEALTHY, HUNG = "healthy", "hung"
#: the rank that leaves the loop early in a job that hangs
CULPRIT = 1
#: seconds after its launcher within which `watch` must have ended: a meeting and two looks
LATE = 20.0
#: seconds that a job may take longer than alone, beside what watch does at its end
SLOWER = 10.0
SLOW = "the job took"
PREAMBLE = """\
# Jobs that are struck while they are watched

Made by `make chaos`, which strikes real jobs with faults: three ranks with data workers under torchrun, or two
launchers with two ranks each whose watchers meet. Each run has processes, file systems, shared memory and network of
its own (Linux namespaces), so that nothing outside can be hit and whatever is left behind is seen. The moment is
decided by a seed: `python -m benchmarks.chaos --only FAULT/STATE/SEED` repeats a run.

A healthy job runs twice, with `ddpdoctor watch --on-hang stop` and without it. It must end with the same status and
the same output, `watch` must end soon after its launcher, nothing may be left behind, and nobody may be blamed who was
not struck. In the other state rank 1 leaves the loop early beside the fault: then it, the rank that was struck, or
nobody may be blamed.
"""
HEAD = (
    "| fault | strikes | healthy | with a hang | broken | told of the hang |",
    "|---|---|---|---|---|---|",
)
_OWN_TRACEBACK = re.compile(r'^  File ".*/ddpdoctor/(?!probe/)', re.M)


@dataclass(frozen=True, slots=True)
class ChaosRun:
    """One job that was struck."""

    fault: str
    state: str
    seed: int
    #: what did not hold
    broken: tuple[str, ...]
    #: exit statuses, of the launchers alone and as watched; None for what did not end
    alone: tuple[int | None, ...]
    watched: tuple[int | None, ...]
    #: outcome and codes of the last report
    told: str
    seconds: float
    load_average: float = 0.0
    engine: str = ""
    commit: str = ""

    @property
    def key(self) -> str:
        return f"{self.fault}/{self.state}/{self.seed}"

    @property
    def is_miss(self) -> bool:
        return bool(self.broken)

    def in_words(self) -> str:
        said = "BROKEN: " + "; ".join(self.broken) if self.broken else "ok"
        return f"{said}; {self.told}, {self.seconds:.0f} s, load average {self.load_average:.1f}"


def tasks(seeds: int, results: Ledger[ChaosRun]) -> Iterator[Task[ChaosRun]]:
    """`seeds` runs of every fault in both states, so ordered that any part of them is a sample of the whole."""
    for seed in range(seeds):
        for fault in FAULTS:
            for state in (HEALTHY, HUNG):
                yield Task(f"{fault.name}/{state}/{seed}", results, functools.partial(run, fault, state, seed))


def run(fault: Fault, state: str, seed: int, folder: Path, stop: threading.Event) -> ChaosRun:
    """Raises RuntimeError if the namespaces cannot be made or the fault cannot be committed."""
    folder.mkdir(parents=True)
    alone = _play(fault, state, seed, folder, stop, watched=False) if state == HEALTHY else {}
    watched = _play(fault, state, seed, folder, stop, watched=True)
    broken = () if stop.is_set() else tuple(judge(fault, alone, watched))
    if len(broken) == 1 and SLOW in broken[0]:
        # a machine that is busy with something else is slow for a while: only what is slow again counts
        alone, watched = (_play(fault, state, seed, folder, stop, watched=way) for way in (False, True))
        broken = () if stop.is_set() else tuple(judge(fault, alone, watched))
    last = watched["reports"][-1] if watched.get("reports") else None
    return ChaosRun(
        fault.name,
        state,
        seed,
        broken,
        tuple(alone.get("statuses", ())),
        tuple(watched.get("statuses", ())),
        f"{last[0]} {','.join(one[0] for one in last[2])}".strip() if last else "nothing told",
        watched.get("seconds", 0.0),
        round(os.getloadavg()[0], 1),
        measured.engine(),
        measured.commit(),
    )


def _play(fault: Fault, state: str, seed: int, folder: Path, stop: threading.Event, *, watched: bool) -> dict[str, Any]:
    way = "watched" if watched else "alone"
    command = [*NAMESPACES, sys.executable, "-m", "tests.e2e.chaos.inside", fault.name, state, str(seed), way]
    with (folder / f"{way}.json").open("wb") as out, (folder / f"{way}.err").open("wb") as err:
        process = subprocess.Popen(command, cwd=measured.ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        for _ in range(int(LONGEST) + 60):
            try:
                process.wait(1.0)
                break
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    break
        process.kill()
        process.wait()
    if stop.is_set():
        return {}
    text = (folder / f"{way}.json").read_text()
    if not text:
        raise RuntimeError(f"{fault.name}: {(folder / f'{way}.err').read_text()[-500:]}")
    result: dict[str, Any] = json.loads(text)
    if result["failure"]:
        raise RuntimeError(f"{fault.name} could not be committed: {result['failure']}")
    return result


def judge(fault: Fault, alone: dict[str, Any], watched: dict[str, Any]) -> Iterator[str]:
    """What did not hold; `alone` is empty for a job that hangs."""
    if alone and not fault.silences:
        yield from _as_alone(alone, watched)
    elif alone:
        yield from _output(alone, watched)
    elif not fault.silences and None in watched["statuses"] and not any(one[2] for one in watched["reports"]):
        yield f"a job that hangs was neither ended nor told: {watched['statuses']}"
    after = watched["after_launchers"]
    if after is not None and after > LATE:
        yield f"watch ended {after:.0f} s after its launcher"
    yield from _left(fault, alone, watched)
    if _OWN_TRACEBACK.search(watched["stderr"]):
        yield "an exception of ours"
    if "cannot continue watching" in watched["stderr"] and not fault.silences:
        yield "watching was given up"
    yield from _blame(fault, watched, hung=not alone)


def _as_alone(alone: dict[str, Any], watched: dict[str, Any]) -> Iterator[str]:
    expected = [status if status is None or status >= 0 else 128 - status for status in alone["statuses"]]
    if watched["statuses"] != expected:
        yield f"exit status {watched['statuses']}, alone {expected}"
    elif watched["seconds"] > alone["seconds"] * 1.5 + SLOWER:
        yield f"{SLOW} {watched['seconds']:.0f} s, alone {alone['seconds']:.0f} s"
    yield from _output(alone, watched)


def _output(alone: dict[str, Any], watched: dict[str, Any]) -> Iterator[str]:
    """How far a job gets that fails is a matter of chance."""
    if not any(alone["statuses"]):
        lost = Counter(alone["stdout"]) - Counter(watched["stdout"])
        more = Counter(watched["stdout"]) - Counter(alone["stdout"])
        if lost or more:
            yield f"output differs: lost {[line[:60] for line in lost]}, more {[line[:60] for line in more]}"


def _left(fault: Fault, alone: dict[str, Any], watched: dict[str, Any]) -> Iterator[str]:
    if not alone and None in watched["statuses"]:
        return  # a job that hangs and was ended by force
    ours = [command for command in watched["left"] if "ddpdoctor" in command or "py-spy" in command]
    if ours:
        yield f"left running: {ours}"
    elif alone and len(watched["left"]) > len(alone["left"]):
        yield f"left running: {watched['left']}, alone {alone['left']}"
    if watched["folders"] and not fault.keeps_run_folder:
        yield f"left behind: {watched['folders']}"


def _blame(fault: Fault, watched: dict[str, Any], *, hung: bool) -> Iterator[str]:
    true = {*fault.blamed, *([CULPRIT] if hung else [])}
    for outcome, deadlock, diagnoses, _gaps in watched["reports"]:
        for code, confidence, culprits, sure in diagnoses[:1]:
            wrong = set(culprits) - true
            # a rank that is stopped, or whose data worker is, does hold up the others
            held_up = fault.name.startswith("stop-a-") and wrong == {2}
            if wrong and not held_up and confidence != "possible":  # which decides nothing
                yield f"ranks {sorted(wrong)} were blamed: {outcome} {code} {confidence} (blame {sure})"
            if not hung and fault.part is Part.WATCH and deadlock != "no":
                yield f"a deadlock {deadlock} of a healthy job: {code} {confidence}"


def summary(runs: Sequence[ChaosRun]) -> str:
    """What was found so far, and every invariant that was broken."""
    broken = [one for one in runs if one.broken]
    return "\n".join(
        [
            f"{len(runs)} runs, {len({one.fault for one in runs})} kinds of fault, "
            f"{sum(one.state == HUNG for one in runs)} with a hang beside it; broken: {len(broken)}",
            *(f"  {one.key}: {one.in_words()}" for one in broken),
        ]
    )


def page(runs: Sequence[ChaosRun]) -> str:
    """docs/chaos.md."""
    rows = []
    for fault in FAULTS:
        of_it = [one for one in runs if one.fault == fault.name]
        healthy, hung = ([one for one in of_it if one.state == state] for state in (HEALTHY, HUNG))
        told = Counter(one.told for one in hung)
        broken = sum(bool(one.broken) for one in of_it)
        rows.append(
            f"| {fault.name} | {fault.part.value} | {len(healthy)} | {len(hung)} | {broken or 'none'} "
            f"| {', '.join(f'{words} ({number})' for words, number in told.most_common())} |"
        )
    misses = [f"- `{one.key}`: {'; '.join(one.broken)}" for one in runs if one.broken]
    said = f"{summary(runs).splitlines()[0]}. Commit {', '.join(sorted({one.commit for one in runs}))}.\n"
    return "\n".join([PREAMBLE, said, *HEAD, *rows, "", *misses]).rstrip() + "\n"


def results(*, fresh: bool = False) -> Ledger[ChaosRun]:
    """What has been run with the present engine."""
    return Ledger(RESULTS, _decode, fresh=fresh)


def _decode(told: dict[str, Any]) -> ChaosRun:
    return ChaosRun(**{**told, **{name: tuple(told[name]) for name in ("broken", "alone", "watched")}})


def main() -> int:
    args = _arguments()
    kept = results(fresh=args.fresh)
    todo = [task for task in tasks(args.seeds, kept) if args.only in task.key]
    # whoever ends this program has its jobs ended, too
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = 0
    try:
        ledger.run(todo, args.jobs, args.until)
    except KeyboardInterrupt:
        status = 130
    except RuntimeError as error:
        print(f"chaos: {error}", file=sys.stderr)
        status = 2
    print(summary(kept.results))
    if args.page:
        PAGE.write_text(page(kept.results), encoding="utf-8")
    return status or (1 if any(one.broken for one in kept.results) else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="runs of each fault in both states (default: 4)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--until", type=float, metavar="MINUTES", help="begin no run after so many minutes")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help=f"only runs with this text in their key: {', '.join(BY_NAME)}"
    )
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.relative_to(measured.ROOT)}")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have found")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
