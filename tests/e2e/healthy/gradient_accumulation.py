"""Gradient accumulation with no_sync: every rank synchronizes at the same micro-batch, slow ranks or not."""

import argparse
import contextlib
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other micro-batches, layers and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    accumulate, updates, depth = source.randint(2, 5), source.randint(2, 5), source.randint(1, 4)
    seconds = source.uniform(2.5, 5.0)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    layers = [nn.Linear(24, 24) for _ in range(depth)]
    model = DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=0.002)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    slow = (args.seed + 1) % size
    for update in range(updates):
        for part in range(accumulate):
            if rank == slow:
                time.sleep(seconds / (updates * accumulate))  # its texts are longer
            with model.no_sync() if part + 1 < accumulate else contextlib.nullcontext():
                loss = model(torch.randn(4, 24)).square().mean() / accumulate
                loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"update {update}: loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
