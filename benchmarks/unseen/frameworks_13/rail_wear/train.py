"""Wear of rails from laser profiles, with Fabric; each process reads the measuring runs of its own train."""

import argparse
import pathlib
import tempfile
from dataclasses import dataclass, field

import torch
from lightning.fabric import Fabric
from torch import nn

from feeder import Feeder

POINTS = 12


@dataclass
class Plan:
    nights: int = 6
    rows: int = 640
    batch: int = 16
    lr: float = 1e-3
    hidden: list = field(default_factory=lambda: [48, 48])


def record(path, rows, seed, firmware):
    """What the measuring train writes in one night. Since firmware 4 a lost echo is a dash."""
    g = torch.Generator().manual_seed(seed)
    weight = torch.linspace(-1, 1, POINTS)
    with open(path, "w") as f:
        for i in range(rows):
            profile = torch.randn(POINTS, generator=g)
            wear = profile @ weight + 0.1 * torch.randn((), generator=g)
            cells = [f"{value:.4f}" for value in profile.tolist()]
            if i % 301 == 300:
                cells[POINTS // 2] = "-" if firmware >= 4 else "0.0000"
            f.write(";".join([*cells, f"{wear.item():.4f}"]) + "\n")


class RailModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        layers, width = [], POINTS
        for size in hidden:
            layers += [nn.Linear(width, size), nn.SiLU()]
            width = size
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, profile):
        return self.net(profile).squeeze(-1)


def night(fabric, model, optimizer, path, batch):
    total, steps = torch.zeros(1), 0
    with open(path) as lines:
        for profile, wear in Feeder(lines, batch, device=fabric.device):
            loss = nn.functional.huber_loss(model(profile), wear)
            fabric.backward(loss)
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            steps += 1
    return fabric.all_reduce(total / steps, reduce_op="mean").item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=Plan.nights)
    parser.add_argument("--rows", type=int, default=Plan.rows)
    args = parser.parse_args()
    plan = Plan(nights=args.nights, rows=args.rows)
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(4)
    model = RailModel(plan.hidden)
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=plan.lr))
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for n in range(plan.nights):
            path = pathlib.Path(folder) / f"night_{n}.csv"
            updated = n >= 3 and fabric.global_rank == 1
            record(path, plan.rows, seed=100 * fabric.global_rank + n, firmware=4 if updated else 3)
            runs.append(path)
        fabric.barrier()
        for n, path in enumerate(runs):
            error = night(fabric, model, optimizer, path, plan.batch)
            fabric.print(f"night {n}: {error:.4f}")


if __name__ == "__main__":
    main()
