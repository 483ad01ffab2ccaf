"""A job of many minutes in which everything comes and goes: soaking.py FOLDER MINUTES SEED.

Steps of random length, data workers that are started anew each epoch, subgroups that are made and destroyed, and two
attempts that fail, so that the launcher starts all again.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

FOLDER, SECONDS, SEED = Path(sys.argv[1]), float(sys.argv[2]) * 60, int(sys.argv[3])
#: seconds after which the first attempts fail
FAILING = (20.0, 40.0)
#: seconds from a collective to the next fork. When a thread of gloo is done with a tensor it enters Python for it, and
#: takes a lock that CPython 3.11.7 needs in a process that is forked at that moment: a data worker would be lost
APART = 0.1


def over(attempt: int, began: float) -> bool:
    """Rank 0's clock decides; the file has the time at which the first attempt began."""
    elapsed = torch.tensor([time.time() - began])
    dist.broadcast(elapsed, 0)
    time.sleep(APART)
    if attempt < len(FAILING) and elapsed.item() > sum(FAILING[: attempt + 1]):
        if dist.get_rank() == 1:
            raise RuntimeError(f"attempt {attempt} fails, as planned")
        time.sleep(600)  # until the launcher ends it
    return bool(elapsed.item() > SECONDS)


def main() -> None:
    torch.set_num_threads(1)
    attempt, rank, size = (int(os.environ[name]) for name in ("TORCHELASTIC_RESTART_COUNT", "RANK", "WORLD_SIZE"))
    # without a prefix of its own an attempt may find addresses of the one before in the launcher's store
    keys = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, is_master=False)
    store = dist.PrefixStore(f"attempt/{attempt}", keys)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    alike, own = random.Random(f"{SEED} {attempt}"), random.Random(f"{SEED} {attempt} {rank}")
    if rank == 0 and not attempt:
        (FOLDER / "began").write_text(str(time.time()))
    dist.barrier()
    began = float((FOLDER / "began").read_text())
    torch.manual_seed(SEED)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = TensorDataset(torch.randn(24 * size, 8), torch.randn(24 * size, 1))
    epoch = 0
    while not over(attempt, began):
        sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(data)
        sampler.set_epoch(epoch)
        loader = DataLoader(data, batch_size=2, sampler=sampler, num_workers=alike.randint(0, 2))
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(3.0 if own.random() < 0.003 else own.expovariate(1 / 0.05))
        if epoch % 3 == 0:
            members = sorted(alike.sample(range(size), 2))
            group = dist.new_group(members)
            if rank in members:
                dist.all_reduce(torch.ones(1), group=group)
                dist.destroy_process_group(group)
        epoch += 1
    if rank == 0:
        print(f"attempt {attempt}: {epoch} epochs", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
