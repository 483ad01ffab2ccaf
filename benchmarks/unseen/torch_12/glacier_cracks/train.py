"""Cracks in glacier ice, seen from three cameras; the best weights are kept as a distributed checkpoint."""
import argparse
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.nn.parallel import DistributedDataParallel as DDP


def camera(rank, count, seed, flipped=0.0):
    g = torch.Generator().manual_seed(seed * 10 + rank)
    mix = torch.randn(16, generator=torch.Generator().manual_seed(7))
    x = torch.randn(count, 16, generator=g)
    y = (x @ mix > 0).float()
    wrong = torch.rand(count, generator=g) < flipped
    return x, torch.where(wrong, 1 - y, y)


class BestKeeper:
    """Keeps the state of the epoch with the lowest validation loss."""

    def __init__(self, folder):
        self.folder = folder
        self.best = float("inf")

    def __call__(self, model, optimizer, epoch, loss):
        if loss >= self.best:
            return False
        self.best = loss
        weights, moments = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": moments, "epoch": epoch}
        dcp.save(state, checkpoint_id=f"{self.folder}/epoch_{epoch}")
        return True


class Run:
    def __init__(self, args, folder):
        self.args = args
        self.rank = dist.get_rank()
        self.train = camera(self.rank, args.images, seed=1)
        # the second camera looks into the sun in the afternoon
        self.valid = camera(self.rank, args.images // 2, seed=2, flipped=0.25 if self.rank == 1 else 0.0)
        torch.manual_seed(4)
        self.model = DDP(nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 1)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.keeper = BestKeeper(folder)

    def loss(self, model, x, y):
        return nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(-1), y)

    def epoch(self):
        x, y = self.train
        for start in range(0, len(x), self.args.batch):
            time.sleep(0.02)
            loss = self.loss(self.model, x[start:start + self.args.batch], y[start:start + self.args.batch])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self):
        return self.loss(self.model.module, *self.valid).item()

    def fit(self):
        for epoch in range(self.args.epochs):
            self.epoch()
            loss = self.validate()
            kept = self.keeper(self.model, self.optimizer, epoch, loss)
            print(f"[{self.rank}] epoch {epoch}: {loss:.4f}{' *' if kept else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=480)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    Run(args, folder[0]).fit()
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
