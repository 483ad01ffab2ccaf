"""What `watch` costs a training step: `python -m benchmarks.watch_overhead [LAUNCHES] [KIND...]`.

Two gloo ranks take steps of a job (benchmarks/overhead_jobs.py) under a real `ddpdoctor watch`. Blocks of steps with
watch alternate with blocks without it, in the same processes, each pair in the reverse order of the previous one.
"Without" means that torch's own functions replace the probe's hooks and that the supervisor is stopped; that no hook
writes anything then is checked. The heartbeat's thread stays (benchmarks/heartbeat_cost.py measures it).

Figures: how many times as long a step takes, and how many times the processor time of the rank with all its threads. Of
short steps also the microseconds of processor time that a step takes the rank's main thread more. Last, in steps with
the hooks alone, the microseconds inside of them, with a clock around each that stands still while torch's own function
runs: this sees nothing but the hooks themselves, and decides where other work on the machine hides them in the others.

Two separate jobs, one watched and one not, would show less: a process can be up to 10 % faster or slower than an
identical one for its whole life (60 launches with the tiny model: 1.009, interval 0.987 to 1.022).
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from benchmarks.hooks_away import Watch
from benchmarks.measured import ROOT
from benchmarks.overhead_jobs import KINDS, Job, Kind
from ddpdoctor.observe.stall import SETTLED

#: seconds of a block: short, so that the machine's mood is the same in both blocks of a pair, but not so short that the
#: supervisor, which does in each what has become due while it was stopped, does more than its share in it
BLOCK = 1.0
RANKS, PAIRS = 2, 60
#: seconds of steps before the first pair: until then watch reads the pages more often
SETTLE = SETTLED + 5.0
#: steps in which the time inside of hooks is measured
INSIDE = 41
#: milliseconds of processor time of a step below which its own noise does not hide what the hooks take of it
_SHORT = 20.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a block of steps took: seconds of the clock, of the process's threads together, of its main thread."""

    wall: float
    process: float
    thread: float


def main() -> int:
    kinds = [KINDS[word] for word in sys.argv[1:] if word in KINDS] or list(KINDS.values())
    return max(figures.tell(measure(kind, figures.count(2))) for kind in kinds)


def measure(kind: Kind, launches: int) -> list[Figure]:
    """The figures of one kind of job; PAIRS pairs in each launch."""
    ratios: dict[str, list[list[float]]] = {"wall": [], "process": [], "added": [], "inside": [], "share": []}
    length = busy = 0.0
    for number in range(launches):
        told = one_launch(kind.name)
        for name in ratios:
            ratios[name].append(told[name])
        length, busy = told["length"]
        print(f"{kind.name}, launch {number + 1} of {launches}: {length:.1f} ms a step", file=sys.stderr, flush=True)
    what = f"{kind.about}; a step of {length:.0f} ms" if length >= 10 else f"{kind.about}; a step of {length:.1f} ms"
    found = [
        figures.paired(what, ratios["wall"], limit=kind.ratio),
        figures.paired("its processor time", ratios["process"], limit=kind.ratio),
    ]
    if busy < _SHORT:
        found.append(figures.paired("added to its main thread's processor time", ratios["added"], Unit.MICROSECONDS))
    if kind.inside:
        inside = [*ratios["inside"]]
        found += [
            figures.paired("inside of hooks", inside, Unit.MICROSECONDS, each="steps"),
            figures.paired(
                "its processor time by the time inside of hooks", ratios["share"], limit=kind.ratio, each="steps"
            ),
        ]
    return found


def one_launch(kind: str) -> dict[str, list[float]]:
    """With watch as a multiple of without, of the pairs of one job; "length": milliseconds of a step and of
    processor time for it."""
    watch = [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    process = subprocess.Popen(
        [*watch, *torchrun, "-m", "benchmarks.watch_overhead", "--rank", kind],
        # The rank loads the probe itself, once it has seen what torch is without.
        env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said, _ = process.communicate()
    finally:
        # a rank that was ended may have left it stopped
        process.send_signal(signal.SIGCONT)
    if process.returncode:
        raise RuntimeError(f"the job ended with status {process.returncode}")
    found: dict[str, list[float]] = json.loads(said.splitlines()[-1])
    return found


def rank(kind: str) -> None:
    """One rank: pairs of blocks of the same number of steps, with watch and without."""
    watch = Watch()
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    job = KINDS[kind].make()
    block = _blocks(job)
    watch.turn(on=True)
    block(10)
    _settle(block)
    watch.look()
    try:
        # what is compiled is compiled for both, and the pace is that of neither's first steps
        watch.turn(on=False)
        written = watch.revision()
        block(5)
        pace = torch.tensor([max(float(KINDS[kind].steps), BLOCK / block(5).wall * 5)])
        if watch.revision() != written:
            raise RuntimeError("a hook was not taken away: this would compare equals")
        watch.turn(on=True)
        block(5)
        dist.broadcast(pace, 0)
        pairs = [_pair(watch, lambda: block(int(pace)), first=bool(number % 2)) for number in range(PAIRS)]
    finally:
        watch.turn(on=True)
    steps = _inside(watch, job) if KINDS[kind].inside else []
    if dist.get_rank() == 0:
        print(json.dumps({**_compared(pairs, int(pace)), **_of_steps(steps)}))
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


def _pair(watch: Watch, block: Callable[[], Spent], *, first: bool) -> tuple[Spent, Spent]:
    """(with watch, without)."""
    took: dict[bool, Spent] = {}
    for on in (first, not first):
        watch.turn(on=on)
        written = watch.revision()
        took[on] = block()
        if (watch.revision() != written) != on:
            raise RuntimeError("the hooks were not as they should be")
    return took[True], took[False]


def _settle(block: Callable[[int], Spent]) -> None:
    """Let all ranks take steps until watch has seen enough of them."""
    import torch
    import torch.distributed as dist

    until = time.monotonic() + SETTLE
    left = torch.ones(1)
    while left.item():
        block(10)
        left.fill_(float(time.monotonic() < until))
        dist.broadcast(left, 0)


def _blocks(job: Job) -> Callable[[int], Spent]:
    import torch.distributed as dist

    def block(steps: int) -> Spent:
        dist.barrier()
        before = time.perf_counter(), time.process_time(), time.thread_time()
        for batch in job.batches(steps):
            job.step(batch)
        after = time.perf_counter(), time.process_time(), time.thread_time()
        return Spent(*(end - start for end, start in zip(after, before, strict=True)))

    return block


def _inside(watch: Watch, job: Job) -> list[tuple[float, float]]:
    """Of each of some steps, a batch included: seconds inside of hooks, and of the main thread's processor time."""
    watch.measure_inside()
    found = []
    before, began = watch.inside, time.thread_time()
    for batch in job.batches(INSIDE):
        job.step(batch)
        now = time.thread_time()
        found.append((watch.inside - before, now - began))
        before, began = watch.inside, now
    return found[1:]


def _of_steps(steps: list[tuple[float, float]]) -> dict[str, list[float]]:
    return {
        "inside": [hooks * 1e6 for hooks, _ in steps],
        "share": [step / (step - hooks) for hooks, step in steps],
    }


def _compared(pairs: list[tuple[Spent, Spent]], steps: int) -> dict[str, list[float]]:
    columns = ([without.wall for _, without in pairs], [without.process for _, without in pairs])
    spent = [statistics.median(column) / steps * 1e3 for column in columns]
    return {
        "wall": [watched.wall / without.wall for watched, without in pairs],
        "process": [watched.process / without.process for watched, without in pairs],
        "added": [(watched.thread - without.thread) / steps * 1e6 for watched, without in pairs],
        "length": spent,
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank(sys.argv[2])
    else:
        sys.exit(main())
