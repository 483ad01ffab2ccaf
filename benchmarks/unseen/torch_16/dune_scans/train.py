"""Wave lengths of dunes from laser scans, each process with the scans of one site."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from scans import CELLS, SITES, DuneScans, limited

log = logging.getLogger("dunes")


def make_loader(args, rank):
    site = list(SITES)[rank % len(SITES)]
    return DataLoader(
        DuneScans(site, args.scans, seed=rank),
        batch_size=args.batch,
        shuffle=True,
        num_workers=1,
        persistent_workers=True,
        worker_init_fn=limited(args.cpu_seconds),
        generator=torch.Generator().manual_seed(rank),
    )


def train(args, rank):
    loader = make_loader(args, rank)
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(CELLS * (CELLS - 1), args.width), nn.ReLU(), nn.Linear(args.width, 1))
    model = DDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total = torch.zeros(1)
        for slopes, wave in loader:
            loss = nn.functional.mse_loss(model(slopes).squeeze(-1), wave)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            log.info("epoch %d loss %.4f", epoch, total.item() / len(loader) / dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--scans", type=int, default=96)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--cpu-seconds", type=int, default=5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(args, dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
