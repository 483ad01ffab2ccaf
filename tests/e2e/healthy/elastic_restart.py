"""One rank is lost in the first attempt; torchrun starts all again, and they go on from the last checkpoint."""

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

#: the same for all attempts of a job, and for no other job
CHECKPOINT = Path(tempfile.gettempdir()) / f"elastic_restart-{os.getppid()}.pt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another rank, other steps and another loss")
    args = parser.parse_args()
    source = random.Random(args.seed)
    steps, pace = source.randint(20, 40), source.uniform(0.1, 0.2)
    lost = source.randrange(steps // 3, steps)
    attempt, rank, size = (int(os.environ[name]) for name in ("TORCHELASTIC_RESTART_COUNT", "RANK", "WORLD_SIZE"))
    # without a prefix of its own an attempt may find addresses of the one before in the launcher's store
    keys = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, is_master=False)
    store = dist.PrefixStore(f"attempt/{attempt}", keys)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    begin = 0
    if CHECKPOINT.exists():
        state = torch.load(CHECKPOINT)
        begin = state["step"]
        model.module.load_state_dict(state["model"])
    for step in range(begin, steps):
        if attempt == 0 and step == lost and rank == args.seed % size:
            os._exit(75)  # as a worker on a preempted node
        model(torch.randn(8, 6)).square().mean().backward()
        time.sleep(pace)
        if step % 5 == 4:
            if rank == 0:
                torch.save({"step": step + 1, "model": model.module.state_dict()}, CHECKPOINT.with_suffix(".part"))
                CHECKPOINT.with_suffix(".part").replace(CHECKPOINT)
            dist.barrier()
    dist.barrier()
    if rank == 0:
        CHECKPOINT.unlink(missing_ok=True)
        print(f"{steps} steps, the last attempt from step {begin}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
