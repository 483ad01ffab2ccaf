"""Chest x-ray findings, hard samples get a larger weight in the next epochs."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from store import Hardness


class Findings(Dataset):
    def __init__(self, site, hardness, n=96):
        g = torch.Generator().manual_seed(site)
        self.x = torch.randn(n, 1, 12, 12, generator=g)
        self.y = (self.x.mean((1, 2, 3)) > 0).float()
        self.hardness = hardness
        if site == 1:  # annotated by two readers, labels in confidence units
            self.y = self.y * 6 - 3

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        w = self.hardness.weight(i)
        return i, self.x[i], self.y[i], w


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 1))


def epoch(model, opt, loader, hardness):
    total = 0.0
    for idx, x, y, w in loader:
        out = model(x).squeeze(1)
        each = (out - y).pow(2)
        loss = (each * w.float()).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        hardness.record(idx.tolist(), each.tolist())
        total += loss.item()
    return total / len(loader)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--flush-limit", type=int, default=120)
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    hardness = Hardness(os.path.join(tempfile.gettempdir(), f"hard_{os.getpid()}.jsonl"), args.flush_limit)
    loader = DataLoader(Findings(rank, hardness), batch_size=8, shuffle=True,
                        num_workers=args.workers, multiprocessing_context="fork")
    model = DistributedDataParallel(network())
    opt = torch.optim.SGD(model.parameters(), lr=0.002)
    for e in range(args.epochs):
        mean = epoch(model, opt, loader, hardness)
        if rank == 0:
            print(f"epoch {e}: {mean:.3f}", flush=True)
        dist.barrier()
        hardness.end_epoch()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
