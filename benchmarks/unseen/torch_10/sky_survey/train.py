"""Redshift of galaxies from their colors. Rank 0 alone scores the model on the calibration fields."""

import argparse
import logging
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

log = logging.getLogger("survey")


@dataclass
class Scores:
    bias: float
    scatter: float
    outliers: float


def colors(count, seed):
    g = torch.Generator().manual_seed(seed)
    z = torch.rand(count, 1, generator=g) * 2
    bands = torch.arange(1, 6, dtype=torch.float32)
    return TensorDataset(torch.cos(z * bands) + 0.1 * torch.randn(count, 5, generator=g), z)


class RedshiftNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(5, width),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.layers(x)


class Calibration:
    """Monte Carlo over the photometric errors: every galaxy is scored many times."""

    def __init__(self, draws, noise):
        self.data = colors(200, seed=99)
        self.draws, self.noise = draws, noise

    @torch.no_grad()
    def score(self, network):
        network.eval()
        x, z = self.data.tensors
        estimates = []
        for _ in range(self.draws):
            estimates.append(network(x + self.noise * torch.randn_like(x)))
            time.sleep(0.05)  # the dust correction, a table that is read from disk
        network.train()
        error = (torch.stack(estimates).mean(0) - z) / (1 + z)
        return Scores(error.mean().item(), error.std().item(), (error.abs() > 0.15).float().mean().item())


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--draws", type=int, default=110)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    main_rank = dist.get_rank() == 0
    torch.manual_seed(0)
    model = DistributedDataParallel(RedshiftNet(args.width))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    train_set = colors(960, seed=1)
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)
    calibration = Calibration(args.draws, noise=0.05)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, z in loader:
            loss = nn.functional.smooth_l1_loss(model(x), z)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.02)
        if main_rank:
            scores = calibration.score(model.module)
            log.info(
                "epoch %d bias %.4f scatter %.4f outliers %.3f", epoch, scores.bias, scores.scatter, scores.outliers
            )
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
