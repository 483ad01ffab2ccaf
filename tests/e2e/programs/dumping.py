"""A job of real processes on gloo that fails in a named way and then dumps its recorders.

python dumping.py SCENARIO RANKS FOLDER
"""

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json  # type: ignore[attr-defined]

ONE = torch.ones(1)


def leave(rank: int, ranks: int, folder: Path) -> None:
    """Write both dumps once every rank has come to its last call, and been there for a while."""
    while len(list(folder.glob("last-*"))) < ranks:
        time.sleep(0.05)
    time.sleep(2.0)
    (folder / "pickle" / f"fr_rank_{rank}").write_bytes(_dump_fr_trace())
    text = _dump_fr_trace_json()
    (folder / "json" / f"fr_rank_{rank}").write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / f"left-{rank}").touch()
    while len(list(folder.glob("left-*"))) < ranks:
        time.sleep(0.05)
    os._exit(0)


def evaluate(rank: int, scenario: str) -> None:
    for step in range(12):
        dist.all_reduce(ONE)  # loss
        if scenario != "skipped" or rank != 1 or step != 4:
            dist.all_reduce(ONE)  # accuracy
        dist.all_reduce(ONE)  # norm


def work(rank: int, scenario: str, ranks: int, folder: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    threading.Thread(target=leave, args=(rank, ranks, folder), daemon=True).start()
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(ONE, group=pair)
    evaluate(rank, scenario)
    (folder / f"last-{rank}").touch()
    if scenario == "missing" and rank == 2:
        time.sleep(600)
    with suppress(RuntimeError):  # the first rank that leaves breaks the others' connections
        if scenario == "mismatch" and rank == 1:
            dist.all_gather([torch.ones(1) for _ in range(ranks)], ONE)
        else:
            dist.all_reduce(ONE)
    time.sleep(600)


if __name__ == "__main__":
    target = Path(sys.argv[3])
    for kind in ("pickle", "json"):
        (target / kind).mkdir()
    mp.start_processes(work, (sys.argv[1], int(sys.argv[2]), target), nprocs=int(sys.argv[2]), start_method="fork")
