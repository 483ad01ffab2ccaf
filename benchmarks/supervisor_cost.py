"""The cost of the supervisor with 8 ranks: `python -m benchmarks.supervisor_cost [SECONDS]`.

Eight gloo ranks take DDP steps under `ddpdoctor watch`. It prints the supervisor's share of a core and its resident
memory over SECONDS (default 30), and whether it has loaded torch. Limits: 1 % of a core, 60 MB, and no torch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

RANKS, CPU_LIMIT, MEMORY_LIMIT = 8, 0.01, 60e6


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    with tempfile.TemporaryDirectory(prefix="ddp-") as folder:
        ready, stop = Path(folder, "ready"), Path(folder, "stop")
        process = subprocess.Popen(
            [sys.executable, "-m", "ddpdoctor", "watch", "--quiet", "--", *torchrun, __file__, "--rank", folder],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
        )
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError("the job did not start")
                time.sleep(0.2)
            time.sleep(5.0)
            share, memory, torch = measured(psutil.Process(process.pid), seconds)
        finally:
            stop.touch()
            process.wait(60)
    print(f"the supervisor of {RANKS} ranks: {share:.2%} of a core, {memory / 1e6:.0f} MB", end="")
    print(", torch is loaded in it" if torch else ", no torch in it")
    return 0 if share < CPU_LIMIT and memory < MEMORY_LIMIT and not torch else 1


def measured(supervisor: psutil.Process, seconds: float) -> tuple[float, float, bool]:
    """Share of a core, resident bytes at most, and whether a torch library is mapped."""
    began, before, memory = time.monotonic(), used(supervisor), 0.0
    while time.monotonic() - began < seconds:
        memory = max(memory, supervisor.memory_info().rss)
        time.sleep(0.5)
    share = (used(supervisor) - before) / (time.monotonic() - began)
    return share, memory, "libtorch" in Path(f"/proc/{supervisor.pid}/maps").read_text()


def used(supervisor: psutil.Process) -> float:
    """Processor seconds, those of ended helpers (py-spy) included."""
    times = supervisor.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def rank(folder: Path) -> None:
    """Steps with a pause after each, so that eight ranks leave the machine some air."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch, over = torch.randn(16, 64), torch.zeros(1)
    while not over.item():
        for _ in range(10):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            time.sleep(0.02)
        if dist.get_rank() == 0:
            (folder / "ready").touch()
            over.fill_(float((folder / "stop").exists()))
        dist.broadcast(over, 0)
    dist.destroy_process_group()
    time.sleep(0.2)  # torch 2.13, gloo: a thread of its own may still let go of a Python object


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank(Path(sys.argv[2]))
    else:
        sys.exit(main())
