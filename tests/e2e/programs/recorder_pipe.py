"""A job on gloo that plays the part of NCCL's heartbeat thread: a pipe, and a dump by torch's own recorder when asked.

recorder_pipe.py FOLDER healthy|hung [SECONDS ...]: under "hung", rank 1 leaves the loop for a collective of its own.
SECONDS, one for each rank, is how long the rank takes to answer; `never` reads the pipe and writes nothing.
"""

import os
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace  # type: ignore[attr-defined]

FOLDER, STATE, DELAYS = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]


def serve(rank: int) -> None:
    """As `DumpPipe` and `DebugInfoWriter` of torch 2.13 do it."""
    pipe = Path(f"{os.environ['TORCH_NCCL_DEBUG_INFO_PIPE_FILE']}{rank}.pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    delay = DELAYS[rank] if rank < len(DELAYS) else "0"
    while True:
        time.sleep(0.3)
        if os.read(reader, 128):
            if delay == "never":
                continue
            time.sleep(float(delay))
            Path(f"{os.environ['TORCH_FR_DUMP_TEMP_FILE']}{rank}").write_bytes(_dump_fr_trace())
            with (FOLDER / f"asked{rank}").open("a") as asked:
                asked.write("1")


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    threading.Thread(target=serve, args=(rank,), daemon=True).start()
    for step in range(10**9):
        if STATE == "hung" and rank == 1 and step == 5:
            dist.all_gather([torch.ones(2) for _ in range(dist.get_world_size())], torch.ones(2))
        dist.all_reduce(torch.ones(4))
        (FOLDER / f"ready{rank}").touch()
        time.sleep(0.05)


main()
