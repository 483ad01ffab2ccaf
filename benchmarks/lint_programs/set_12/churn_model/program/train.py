"""torchrun --nproc-per-node 2 train.py --epochs 200 --time-limit 3"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from runtime import setup
from trainer import Trainer


class ChurnNet(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.LayerNorm(width),
                                  nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


def customers(n, features):
    g = torch.Generator().manual_seed(2024)
    x = torch.randn(n, features, generator=g)
    w = torch.randn(features, generator=g)
    p = torch.sigmoid(x @ w / features ** 0.5 - 1.0)
    return TensorDataset(x, torch.bernoulli(p, generator=g))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=3.0)
    parser.add_argument("--out", default="runs/churn")
    cfg = parser.parse_args()
    device = setup(cfg.seed)
    data = customers(4096, cfg.features)
    sampler = DistributedSampler(data, seed=cfg.seed)
    loader = DataLoader(data, batch_size=cfg.batch_size, sampler=sampler)
    Trainer(cfg, ChurnNet(cfg.features, cfg.width), loader, device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
