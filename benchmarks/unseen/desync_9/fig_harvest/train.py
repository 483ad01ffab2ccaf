"""Weight of figs; Accelerate, with orchards of different sizes."""

import argparse
import itertools
import time

import torch
from accelerate import Accelerator
from torch import nn

from orchards import FEATURES, day_loader


class Season:
    """One pass over the orchards, as long as the shortest of them."""

    def __init__(self, accelerator, loader):
        self.accelerator, self.loader = accelerator, loader

    def __len__(self):
        days = torch.tensor([len(self.loader)])
        return int(self.accelerator.gather(days).min())

    def __iter__(self):
        return itertools.islice(self.loader, len(self))


def polish(network, loss):
    """A copy that is trained a little longer on this process alone, to see what there is to gain."""
    trial = nn.Sequential(nn.Linear(FEATURES, 28), nn.SiLU(), nn.Linear(28, 1))
    trial.load_state_dict(network.state_dict())
    optimizer = torch.optim.SGD(trial.parameters(), lr=0.01)
    figs = torch.randn(64, FEATURES)
    for _ in range(70):
        error = (trial(figs) - figs[:, :3].sum(1, keepdim=True).sigmoid()).square().mean()
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        time.sleep(0.015)
    return loss - error.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(14)
    network = nn.Sequential(nn.Linear(FEATURES, 28), nn.SiLU(), nn.Linear(28, 1))
    model, optimizer = accelerator.prepare(network, torch.optim.AdamW(network.parameters(), lr=args.lr))
    season = Season(accelerator, day_loader(accelerator.process_index))
    for number in range(args.seasons):
        for figs, weight in season:
            loss = nn.functional.mse_loss(model(figs), weight)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.process_index == 2:
            print(f"season {number}: to gain {polish(accelerator.unwrap_model(model), loss.item()):.4f}", flush=True)
        mean = accelerator.reduce(loss.detach(), reduction="mean")
        accelerator.print(f"season {number}: {mean.item():.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
