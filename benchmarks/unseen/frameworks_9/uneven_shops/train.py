"""Weekly demand of shops: a small regressor trained with Accelerate on all sales rows."""
import argparse
import math

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from loop import DemandLoop

ROWS = 7721
FEATURES = 14


def sales_table(rows: int, seed: int) -> TensorDataset:
    g = torch.Generator().manual_seed(seed)
    week = torch.randint(0, 52, (rows, 1), generator=g).float()
    season = torch.cat([torch.sin(week * math.tau / 52), torch.cos(week * math.tau / 52)], dim=1)
    shop = torch.randn(rows, FEATURES - 2, generator=g)
    x = torch.cat([season, shop], dim=1)
    weights = torch.linspace(-1.0, 1.0, FEATURES)
    units = (x @ weights + 0.1 * torch.randn(rows, generator=g)).exp().clamp(max=40.0)
    return TensorDataset(x, units)


class Demand(nn.Module):
    def __init__(self, features: int, width: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, width),
            nn.GELU(),
            nn.LayerNorm(width),
            nn.Linear(width, width),
            nn.GELU(),
        )
        self.rate = nn.Linear(width, 1)

    def forward(self, x):
        return self.rate(self.body(x)).squeeze(-1)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--lr", type=float, default=2e-3)
    return p.parse_args()


def main():
    args = parse_args()
    torch.set_num_threads(1)
    set_seed(11)

    # every row counts exactly once: no rows are repeated to fill up the last round
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(even_batches=False))

    model = Demand(FEATURES, args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(sales_table(ROWS, seed=3), batch_size=args.batch_size, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    loop = DemandLoop(accelerator, model, optimizer, loader)
    for epoch in range(args.epochs):
        loss = loop.run_epoch()
        accelerator.print(f"epoch {epoch}: poisson loss {loss:.4f} over {loop.rows} rows")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        norm = sum(p.norm().item() for p in accelerator.unwrap_model(model).parameters())
        print(f"done, weight norm {norm:.3f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
