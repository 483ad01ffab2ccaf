"""Note density of piano scores: a short stage on two-bar windows, then one on four-bar windows."""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from progress import Progress


def windows(bars, count=1080, seed=0):
    g = torch.Generator().manual_seed(seed + bars)
    x = torch.rand(count, 32, generator=g).cumsum(1) / bars
    return TensorDataset(x, x.diff(dim=1).max(1, keepdim=True).values)


class Stage:
    def __init__(self, name, model, bars, micro_batches, args, scratch):
        self.name, self.model, self.args = name, model, args
        self.micro_batches = micro_batches
        data = windows(bars)
        self.loader = DataLoader(data, args.micro_batch_size, sampler=DistributedSampler(data, shuffle=True, seed=bars))
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        self.progress = Progress(scratch)

    def boundary(self):
        return (self.progress.micro_steps + 1) % self.args.accumulate == 0

    def micro_step(self, x, y):
        update = self.boundary()
        with contextlib.nullcontext() if update else self.model.no_sync():
            loss = nn.functional.mse_loss(self.model(x), y)
            (loss / self.args.accumulate).backward()
        if update:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.progress.updates += 1
        self.progress.micro_steps += 1
        return loss.item()

    def run(self):
        loss = float("nan")
        for number, (x, y) in enumerate(self.loader):
            if number == self.micro_batches:
                break
            loss = self.micro_step(x, y)
            time.sleep(0.03)
        dist.barrier()
        if dist.get_rank() == 0:
            self.progress.save()
            print(f"{self.name}: {self.progress.updates} updates, loss {loss:.4f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--accumulate", type=int, default=4)
    p.add_argument("--micro-batch-size", type=int, default=6)
    p.add_argument("--warm-up", type=int, default=22)
    p.add_argument("--main", type=int, default=58)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--local-scratch", type=Path, default=None)
    args = p.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(9)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)))
    with tempfile.TemporaryDirectory(prefix="scores-") as default:
        scratch = args.local_scratch or Path(default)
        Stage("two bars", model, 2, args.warm_up, args, scratch).run()
        stage = Stage("four bars", model, 4, args.main, args, scratch)
        stage.progress.load()
        stage.run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
