"""Arrival times of seismic waves with Lightning Fabric (three workers, CPU)."""
import argparse

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset

from epochs import EpochRunner


class Traces(Dataset):
    """Windows of a broadband station: three components, and the sample at which the wave arrives."""

    def __init__(self, count: int, length: int = 256):
        g = torch.Generator().manual_seed(6)
        self.arrival = torch.randint(20, length - 20, (count,), generator=g)
        late = torch.arange(length)[None, None, :] >= self.arrival[:, None, None]
        self.trace = torch.randn(count, 3, length, generator=g) * (0.3 + 1.2 * late)
        self.trace[2020] = 0.0  # telemetry gap

    def __len__(self):
        return len(self.arrival)

    def __getitem__(self, i):
        trace = self.trace[i]
        return trace / trace.std(), self.arrival[i] / trace.shape[-1]


class Picker(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(3, width, 7, padding=3), nn.ReLU(), nn.Conv1d(width, width, 7, padding=3), nn.ReLU()
        )
        self.score = nn.Conv1d(width, 1, 1)

    def forward(self, trace):
        weight = self.score(self.body(trace)).squeeze(1).softmax(dim=-1)
        return (weight * torch.linspace(0, 1, trace.shape[-1])).sum(dim=-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(1)
    model = Picker()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(DataLoader(Traces(4800), batch_size=8))
    runner = EpochRunner(fabric, model, optimizer)
    for epoch in range(args.epochs):
        mean = runner.run(loader)
        fabric.print(f"epoch {epoch}: {mean:.4f}")


if __name__ == "__main__":
    main()
