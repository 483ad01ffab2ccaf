"""Uneven inputs under torch's Join: ranks that are done shadow the others' all-reduces."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--more", type=int, default=4, help="batches that each further rank has on top")
    parser.add_argument("--seconds", type=float, default=0.7, help="time that a batch takes to be read")
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        source = random.Random(args.seed)
        args.batches, args.more = source.randint(4, 8), source.randint(1, 5)
        args.seconds = source.uniform(2.0, 4.0) / args.batches
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    count = args.batches + rank * args.more
    generator = torch.Generator().manual_seed(rank)
    dataset = TensorDataset(torch.randn(count * 4, 8, generator=generator))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with Join([model]):
        for (batch,) in DataLoader(dataset, batch_size=4):
            time.sleep(args.seconds)
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
    dist.barrier()
    print(f"rank {rank}: {count} batches", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
