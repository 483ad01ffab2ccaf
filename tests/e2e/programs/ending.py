"""A job that goes on for ever, or stands for ever, until something ends it; each rank leaves its pid in FOLDER.

ending.py FOLDER healthy|hung [FAULT]: once FOLDER/go exists, rank 1 commits the fault. With the fault `linger` all
ranks take their time after Ctrl-C.
"""

import os
import resource
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

FOLDER, STATE, FAULT = Path(sys.argv[1]), sys.argv[2], [*sys.argv[3:], ""][0]


def commit(fault: str) -> None:
    """What ends rank 1 from inside."""
    if fault == "raise":
        raise KeyError("stars")
    if fault == "exit":
        sys.exit(3)
    if fault == "leave":
        os._exit(4)
    if fault == "abort":
        os.abort()
    if fault == "address-space":
        size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), resource.RLIM_INFINITY))
        bytearray(256 << 20)
    if fault == "memory-limit":
        enter_memory_limit(64 << 20)
        _ = b"x" * (256 << 20)
    if fault == "processor-time":
        used = int(sum(os.times()[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + 1, resource.RLIM_INFINITY))
        while True:
            pass


def enter_memory_limit(size: int) -> None:
    """Into a memory cgroup of so many bytes below one's own; what is used already is not counted there."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next(line.split(":", 2)[2] for line in lines if line.split(":")[1] == "memory")
    group = Path(f"/sys/fs/cgroup/memory{own}") / f"ending-{os.getpid()}"
    group.mkdir()
    (FOLDER / "cgroup").write_text(str(group))
    (group / "memory.limit_in_bytes").write_text(str(size))
    (group / "cgroup.procs").write_text(str(os.getpid()))


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.2)


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    dist.all_reduce(torch.ones(1))
    (FOLDER / f"rank{rank}.new").write_text(str(os.getpid()))
    (FOLDER / f"rank{rank}.new").rename(FOLDER / f"rank{rank}")
    if STATE == "hung":
        if rank == 1:
            wait_for(FOLDER / "go")
            commit(FAULT)
        dist.barrier()
    for step in range(10**9):
        dist.all_reduce(torch.ones(1))
        time.sleep(0.05)
        if rank == 1 and step % 4 == 0 and (FOLDER / "go").exists():
            commit(FAULT)


try:
    main()
except KeyboardInterrupt:
    if FAULT == "linger":
        time.sleep(2.0)
    raise
