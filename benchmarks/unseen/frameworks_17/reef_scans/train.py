"""Living coral from sonar scans, with Accelerate; the batch is as large as memory allows."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size, set_seed
from torch import nn
from torch.utils.data import DataLoader

from scans import Reef, collate


class Roughness(nn.Module):
    """Histogram of distances between all pairs of points, and a small network on it."""

    def __init__(self, bins=24, width=48):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0, 5, bins))
        self.net = nn.Sequential(nn.Linear(bins, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, points):
        distances = torch.cdist(points, points)
        bumps = torch.exp(-((distances.unsqueeze(-1) - self.centres) ** 2) / 0.08)
        return self.net(bumps.mean(dim=(1, 2))).squeeze(-1).sigmoid()


class Training:
    def __init__(self, args, accelerator):
        self.args = args
        self.accelerator = accelerator
        self.reef = Reef(args.scans, seed=5, raw={args.scans - 5: 6_000_000})

    def setup(self, batch_size):
        """Everything is made anew for a batch size, as the examples of Accelerate do it."""
        self.accelerator.free_memory()
        set_seed(11)
        model = Roughness()
        optimizer = torch.optim.AdamW(model.parameters(), lr=self.args.lr)
        loader = DataLoader(self.reef, batch_size, collate_fn=collate)
        return self.accelerator.prepare(model, optimizer, loader)

    def run(self, batch_size):
        self.accelerator.print(f"batch size {batch_size}", flush=True)
        model, optimizer, loader = self.setup(batch_size)
        for epoch in range(self.args.epochs):
            model.train()
            for points, alive in loader:
                error = nn.functional.mse_loss(model(points), alive)
                self.accelerator.backward(error)
                optimizer.step()
                optimizer.zero_grad()
                time.sleep(0.02)
            error = self.accelerator.reduce(error.detach(), reduction="mean")
            self.accelerator.print(f"epoch {epoch}: {error.item():.4f}", flush=True)
        return self.accelerator.unwrap_model(model)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scans", type=int, default=480)
    parser.add_argument("--batch", type=int, default=4, help="batch size to start from, per process")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    training = Training(args, accelerator)

    @find_executable_batch_size(starting_batch_size=args.batch)
    def fit(batch_size):
        return training.run(batch_size)

    model = fit()
    if accelerator.is_main_process:
        torch.save(model.state_dict(), "/dev/null")
    accelerator.end_training()


if __name__ == "__main__":
    main()
