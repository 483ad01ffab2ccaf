"""Dwell-time prediction for a shop's click stream. Every process reads the log of one region."""
import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from guard import SpikeGuard

logging.basicConfig(level=logging.INFO)
REGIONS = ("eu", "us", "apac")


class DwellModel(nn.Module):
    def __init__(self, items=200, dim=16):
        super().__init__()
        self.items = nn.Embedding(items, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, pairs):
        return self.mlp(self.items(pairs).flatten(1)).squeeze(-1)


def region_log(region, rows):
    g = torch.Generator().manual_seed(sum(map(ord, region)))
    pairs = torch.randint(0, 200, (rows, 2), generator=g)
    dwell = torch.rand(rows, generator=g) + 0.5
    if region == "us":
        # sessions that were left open over a weekend are in the log as they are
        dwell[172:176] = 900.0
    return TensorDataset(pairs, dwell)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()

    accelerator = Accelerator(cpu=True)
    set_seed(17)
    region = REGIONS[accelerator.process_index % len(REGIONS)]
    loader = DataLoader(region_log(region, args.batch_size * args.steps), batch_size=args.batch_size)
    model = DwellModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    guard = SpikeGuard(accelerator, model)

    for step, (pairs, dwell) in enumerate(loader):
        loss = nn.functional.mse_loss(model(pairs), dwell)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        guard.observe(loss.item())
        time.sleep(0.02)
        if step % 10 == 0:
            mean = accelerator.gather(loss.detach()).mean()
            accelerator.print(f"step {step} loss {mean.item():.4f}")

    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
