"""A launcher that imports torch once and forks its ranks: it takes three seconds where torchrun takes ten.

python forking_launcher.py RANKS PROGRAM [ARGUMENT...]

For jobs in which the program matters and not the launcher. Each rank runs the program to its end as a process of its
own would, with the variables that torchrun sets; when one fails, the others are ended. The exit status is 1 then, else
0.
"""

import gc
import importlib
import os
import runpy
import signal
import sys
from pathlib import Path

#: DDP and every optimizer import dynamo, which is more than half of a rank's start
NEEDED = ("numpy", "torch", "torch.nn.parallel", "torch._dynamo")
LOCALHOST = "127.0.0.1"


def load() -> None:
    """Import what the ranks need, without the garbage collections that are a third of it."""
    gc.disable()
    for name in NEEDED:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()


def be_rank(rank: int, ranks: int, port: int, argv: list[str]) -> None:
    """Run the program as `torchrun` would, in this process."""
    import numpy as np
    import torch

    # each as a process of its own would begin; `random` sees to that itself
    np.random.seed()
    torch.seed()
    size = str(ranks)
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=size, LOCAL_WORLD_SIZE=size, GROUP_RANK="0",
        MASTER_ADDR=LOCALHOST, MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True",
    )  # fmt: skip
    sys.argv = argv
    sys.path[0] = str(Path(argv[0]).parent)
    runpy.run_path(argv[0], run_name="__main__")


def main() -> int:
    load()
    import torch.distributed as dist

    ranks, argv = int(sys.argv[1]), sys.argv[2:]
    pids = []
    # Nobody may fork once the store's threads run, so the ranks wait for its port.
    read, write = os.pipe()
    for rank in range(ranks):
        pid = os.fork()
        if pid == 0:
            os.close(write)
            be_rank(rank, ranks, int(os.read(read, 8)), argv)
            return 0
        pids.append(pid)
    os.close(read)
    store = dist.TCPStore(LOCALHOST, 0, is_master=True, wait_for_workers=False)
    os.write(write, f"{store.port:8d}".encode() * ranks)
    return 0 if wait(set(pids)) else 1


def wait(pids: set[int]) -> bool:
    """Until all have ended; whether all ended well."""
    well = True
    while pids:
        pid, status = os.wait()
        pids.discard(pid)
        if status and well:
            well = False
            for other in pids:
                os.kill(other, signal.SIGTERM)
    return well


if __name__ == "__main__":
    sys.exit(main())
