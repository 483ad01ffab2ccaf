"""The cost of the supervisor: `python -m benchmarks.supervisor_cost [RANKS] [WINDOWS]`, 8 ranks unless told otherwise.

That many gloo ranks take DDP steps under `ddpdoctor watch`, forked by one launcher, with pauses so that 64 of them
leave the machine some air. Measured are the supervisor's share of a core, in windows of four seconds, and its resident
memory, once the job has trained for a minute.
Limits, for 8 ranks: 1 % of a core, 60 MB. It is an error if the supervisor has loaded torch.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks import figures
from benchmarks.figures import Figure, Unit
from benchmarks.measured import ROOT
from ddpdoctor.observe.stall import SETTLED
from tests.e2e.job import forked

SIZES = (2, 8, 16, 32, 64)
#: the number of ranks that the limits are for
LIMITED, CPU_LIMIT, MEMORY_LIMIT = 8, 0.01, 60.0
#: seconds of a window, before the first, and until the job has started at most
WINDOW, SETTLE, STARTUP = 4.0, SETTLED + 8.0, 600.0


def main() -> int:
    numbers = [int(word) for word in sys.argv[1:]]
    return figures.tell(measure(numbers[0] if numbers else LIMITED, numbers[1] if len(numbers) > 1 else 15))


def measure(ranks: int, windows: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ddp-") as folder:
        ready, stop = Path(folder, "ready"), Path(folder, "stop")
        process = subprocess.Popen(
            [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--", *forked(Path(__file__), ranks, folder)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + STARTUP
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the job did not start")
                time.sleep(0.2)
            time.sleep(SETTLE)
            shares, memory = _observed(psutil.Process(process.pid), windows)
        finally:
            stop.touch()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
    limits = (CPU_LIMIT, MEMORY_LIMIT) if ranks == LIMITED else (None, None)
    return [
        figures.paired(f"{ranks} ranks", [shares], Unit.SHARE, limits[0], each="windows of four seconds"),
        figures.repeated(f"{ranks} ranks, resident memory", memory[-1:], Unit.MEGABYTES, limits[1]),
    ]


def _observed(supervisor: psutil.Process, windows: int) -> tuple[list[float], list[float]]:
    """Of each window the share of a core, and the resident megabytes at its end."""
    shares: list[float] = []
    memory: list[float] = []
    for _ in range(windows):
        began, before = time.monotonic(), _used(supervisor)
        time.sleep(WINDOW)
        shares.append((_used(supervisor) - before) / (time.monotonic() - began))
        memory.append(supervisor.memory_info().rss / 1e6)
    if "libtorch" in Path(f"/proc/{supervisor.pid}/maps").read_text():
        raise RuntimeError("the supervisor has loaded torch")
    return shares, memory


def _used(supervisor: psutil.Process) -> float:
    """Processor seconds of its threads, by the nanosecond, and those of ended helpers (py-spy), by the tick."""
    own = 0.0
    for thread in Path(f"/proc/{supervisor.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that reads a recorder ends meanwhile
            own += int((thread / "schedstat").read_text().split()[0]) / 1e9
    times = supervisor.cpu_times()
    return own + float(times.children_user + times.children_system)


def rank(folder: Path) -> None:
    """Steps with a pause after each, the longer the more ranks there are."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    pause = 0.02 * max(1.0, dist.get_world_size() / 8)
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch, over = torch.randn(16, 64), torch.zeros(1)
    while not over.item():
        for _ in range(5):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            time.sleep(pause)
        if dist.get_rank() == 0:
            (folder / "ready").touch()
            over.fill_(float((folder / "stop").exists()))
        dist.broadcast(over, 0)
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


if __name__ == "__main__":
    if "RANK" in os.environ and len(sys.argv) == 2:
        rank(Path(sys.argv[1]))
    else:
        sys.exit(main())
