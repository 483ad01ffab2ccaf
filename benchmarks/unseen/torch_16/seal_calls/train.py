"""Kinds of seal calls, season by season, each process with a hydrophone of its own."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from accumulate import Accumulator
from recordings import KINDS, SPECTRUM, Station


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=5)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--width", type=int, default=40)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    model = DDP(nn.Sequential(nn.Linear(SPECTRUM, args.width), nn.GELU(), nn.Linear(args.width, KINDS)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    accumulator = Accumulator(model, optimizer, args.every)
    station = Station(rank)
    torch.manual_seed(40 + rank)
    for season in range(args.seasons):
        begin, total = time.monotonic(), 0.0
        for batch in station.season(season):
            total += accumulator.add(batch)
            time.sleep(0.05)
        mean = total / station.batches
        print(f"season {season}, station {rank}: loss {mean:.3f}, {time.monotonic() - begin:.1f} s", flush=True)
        dist.barrier()
        for group in optimizer.param_groups:
            group["lr"] *= 0.8
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
