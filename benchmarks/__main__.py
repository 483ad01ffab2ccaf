"""Measures everything that docs/benchmarks.md shows, and writes that page: `python -m benchmarks [NAME...]`.

The cheapest comes first. Each benchmark's figures are in benchmarks/results.jsonl as soon as it has ended; one whose
figures are there already, for the present source of what it measures, is not run again, so that an interrupted
measurement goes on where it was. Exit status 1 if a limit is missed or a benchmark could not run, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import (
    dump_beside_job,
    dump_cost,
    dump_scale,
    figures,
    heartbeat_cost,
    hook_cost,
    launch_delay,
    lint_speed,
    measured,
    meeting_cost,
    overhead_jobs,
    shutdown_delay,
    supervisor_cost,
    verdict_time,
    watch_overhead,
)
from benchmarks.figures import Figure, Held, Origin, Row
from benchmarks.figures_page import Section, page

PAGE = measured.ROOT / "docs" / "benchmarks.md"
RESULTS = measured.ROOT / "benchmarks" / "results.jsonl"
#: where `--quick` writes, which nobody shows
QUICK = measured.ROOT / "build" / "quick-results.jsonl"
DUMPS = measured.ROOT / "build" / "dumps"

_PROBE = ("probe",)
_SUPERVISOR = ("observe", "collect")
_VERDICT = ("probe", "collect", "observe", "diagnose")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One measurement, and what of the package its figures depend on."""

    name: str
    folders: tuple[str, ...]
    #: takes the repetitions; raises RuntimeError, or OSError, where it cannot run
    measure: Callable[[int], list[Figure]]
    repetitions: int
    #: enough to see that it works
    quick: int = 1

    @property
    def digest(self) -> str:
        return measured.digest(self.folders)


def _dumps(ranks: int, pairs: int) -> list[Figure]:
    DUMPS.mkdir(parents=True, exist_ok=True)
    return dump_scale.beside_torch(DUMPS, ranks, pairs)


#: the cheapest first
BENCHMARKS = (
    Benchmark("launch", ("launch", "observe"), launch_delay.measure, 15, 2),
    Benchmark("hooks", _PROBE, hook_cost.measure, 20, 2),
    Benchmark("heartbeat", _PROBE, heartbeat_cost.measure, 2),
    *(
        Benchmark(f"supervisor/{ranks}", _SUPERVISOR, functools.partial(supervisor_cost.measure, ranks), 15, 2)
        for ranks in supervisor_cost.SIZES
    ),
    *(
        Benchmark(f"verdict/{family.fixture}", _VERDICT, functools.partial(verdict_time.measure, family), 3)
        for family in verdict_time.FAMILIES
    ),
    Benchmark("diagnose/256", ("archive", "diagnose"), functools.partial(_dumps, 256), 6),
    Benchmark("diagnose/1024", ("archive", "diagnose"), functools.partial(_dumps, 1024), 3),
    Benchmark("dump", ("collect", "observe"), dump_cost.measure, 10, 2),
    Benchmark("dump-beside-job", ("collect", "observe"), dump_beside_job.measure, 50, 10),
    Benchmark("meeting", ("meeting", "probe"), meeting_cost.measure, 30, 3),
    Benchmark("lint", ("lint",), lint_speed.measure, 5),
    *(
        Benchmark(f"end/{target}", ("observe", "probe"), functools.partial(shutdown_delay.measure, target), 8, 2)
        for target in shutdown_delay.TARGETS
    ),
    *(
        Benchmark(f"overhead/{kind.name}", _PROBE, functools.partial(watch_overhead.measure, kind), launches)
        for kind in overhead_jobs.KINDS.values()
        # a limit of one percent is within the noise of three
        for launches in ((3,) if kind.ratio is None else (9,))
    ),
)


def _named(prefix: str) -> tuple[str, ...]:
    return tuple(one.name for one in BENCHMARKS if one.name == prefix or one.name.startswith(f"{prefix}/"))


SECTIONS = (
    Section(
        "A step under `watch`",
        "The length of a step with watch, as a multiple of that without it: blocks of steps in turns, in the same two "
        "gloo processes, with the hooks and the supervisor and without; since 28 November 2026 blocks of a second, of "
        "one pass over the loader, after a minute of training. Processor time is that of the rank with all "
        "its threads. Hooks: microseconds of processor time that a step takes the rank's main thread more. A model "
        "empties the caches between two hooks, so that they take several times what they take alone (below), for which "
        "there is no limit but that of the step itself (`python -m benchmarks.watch_overhead`).",
        _named("overhead"),
    ),
    Section(
        "Each hook alone",
        "Microseconds of processor time added to a call, in rounds with the hook and without it in turns. Called many "
        "times over, so that everything is in the caches: the limit of 25 µs a step is for this, and not held inside "
        "of a real step (above; `python -m benchmarks.hook_cost`).",
        _named("hooks"),
    ),
    Section(
        "Threads beside the job",
        "What the heartbeat and the thread in a data worker take (`python -m benchmarks.heartbeat_cost`).",
        _named("heartbeat"),
    ),
    Section(
        "The supervisor",
        "Its share of a core and its memory while the ranks train (`python -m benchmarks.supervisor_cost`). It has not "
        "loaded torch.",
        _named("supervisor"),
    ),
    Section(
        "Launch and end",
        "Seconds that `watch` adds: the same command alone and watched, in turns (`python -m benchmarks.launch_delay`, "
        "`python -m benchmarks.shutdown_delay`). What happens at an end is in [How a job ends](ends.md).",
        (*_named("launch"), *_named("end")),
    ),
    Section(
        "Time to the verdict",
        "Seconds from the last progress of any rank to the report: a fixture of each family under torchrun "
        "(`python -m benchmarks.verdict_time`). After the patience: these set `--stall-after 10`.",
        _named("verdict"),
    ),
    Section(
        "`ddpdoctor dump`",
        "A look in turns with `py-spy dump` of the same processes, and the steps of a job beside looks and without any "
        "(`python -m benchmarks.dump_cost`, `python -m benchmarks.dump_beside_job`).",
        (*_named("dump"), *_named("dump-beside-job")),
    ),
    Section(
        "Watchers that meet",
        "A job on two nodes, which are namespaces of this machine: blocks with the helpers that hold the connections, "
        "and with them stopped (`python -m benchmarks.meeting_cost`). A meeting of up to 4,096 nodes is in [Several "
        "nodes](nodes.md).",
        _named("meeting"),
    ),
    Section(
        "`diagnose` beside torch's analyzer",
        "The same recorder dumps through `ddpdoctor diagnose` and `torchfrtrace`, in turns "
        "(`python -m benchmarks.dump_scale --torch 1024`). Growth to 16,384 ranks is in [Flight Recorder "
        "dumps](recorder-dumps.md).",
        _named("diagnose"),
    ),
    Section(
        "`lint` beside other linters",
        "The same files through all of them, in turns, two processes each: the installed files that use "
        "torch.distributed, which lint interprets for four ranks (`python -m benchmarks.lint_speed`). Larger trees are "
        "in [Lint](lint.md).",
        _named("lint"),
    ),
)


def main() -> int:
    args = _arguments()
    file = QUICK if args.quick else RESULTS
    failed = 0
    if not args.page:
        for benchmark in _todo(args, file):
            failed |= _one(benchmark, file, quick=args.quick)
    if args.quick:
        return failed
    rows = figures.newest(figures.read(file))
    PAGE.write_text(page(SECTIONS, rows), encoding="utf-8")
    missed = sum(row.figure.held is Held.NO for found in rows.values() for row in found)
    print(f"{PAGE.relative_to(measured.ROOT)}: {sum(map(len, rows.values()))} figures, {missed} limits missed")
    return 1 if missed or failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these, as overhead/tiny or overhead")
    parser.add_argument("--fresh", action="store_true", help="measure again what has been measured")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page anew")
    parser.add_argument("--quick", action="store_true", help="few repetitions, to see that all works; no page")
    parser.add_argument("--repetitions", type=int, help="other than each benchmark's own")
    args = parser.parse_args()
    unknown = [name for name in args.names if not _named(name)]
    if unknown:
        parser.error(f"no benchmark {unknown[0]}; there are {', '.join(one.name for one in BENCHMARKS)}")
    return args


def _todo(args: argparse.Namespace, file: Path) -> list[Benchmark]:
    chosen = {name for prefix in args.names for name in _named(prefix)} or {one.name for one in BENCHMARKS}
    last = figures.newest(figures.read(file))
    done = {name: found[0].origin.digest for name, found in last.items()}
    return [
        one if args.repetitions is None else _repeated(one, args.repetitions)
        for one in BENCHMARKS
        if one.name in chosen and (args.fresh or done.get(one.name) != one.digest)
    ]


def _repeated(one: Benchmark, times: int) -> Benchmark:
    return Benchmark(one.name, one.folders, one.measure, times, times)


def _one(benchmark: Benchmark, file: Path, *, quick: bool) -> int:
    """Measure and keep; 1 if it could not run, which the others do not suffer from."""
    print(f"== {benchmark.name}", flush=True)
    origin = Origin.now(benchmark.digest)
    try:
        found = benchmark.measure(benchmark.quick if quick else benchmark.repetitions)
    except (RuntimeError, OSError, AssertionError, subprocess.SubprocessError) as error:
        print(f"{benchmark.name}: not measured: {error}", file=sys.stderr, flush=True)
        return 1
    figures.tell(found)
    figures.append(file, [Row(benchmark.name, figure, origin) for figure in found])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
