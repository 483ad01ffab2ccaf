"""The load on a bridge from its strain gauges."""

import argparse
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from sensors import CHANNELS, Windows
from voting import Ballot


class LoadModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(CHANNELS, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, strain):
        return self.layers(strain).squeeze(1)


def draw(model, seconds):
    """An influence line of every sensor, for the inspector."""
    weights = next(model.parameters()).detach()
    until = time.monotonic() + seconds
    lines = []
    while time.monotonic() < until:
        lines.append(weights.abs().sum(dim=0).sort().indices)
        time.sleep(0.05)
    return len(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=int, default=1380)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--draw-every", type=int, default=115)
    parser.add_argument("--draw-seconds", type=float, default=1.2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(31)
    windows = Windows(args.windows)
    network = LoadModel()
    optimizer = torch.optim.SGD(network.parameters(), lr=args.lr)
    loader = DataLoader(windows, batch_size=1, shuffle=False)
    model, optimizer, loader = accelerator.prepare(network, optimizer, loader)
    ballot = Ballot(accelerator)

    for number, (strain, load) in enumerate(loader):
        if not ballot.accepts(strain, load):
            continue
        loss = nn.functional.mse_loss(model(strain.flatten(0, 1)), load.flatten())
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if number % args.draw_every == 0 and accelerator.is_main_process:
            count = draw(network, args.draw_seconds)
            print(f"window {number}: loss {loss.item():.4f}, {count} lines", flush=True)

    accelerator.wait_for_everyone()
    print(
        f"process {accelerator.process_index}: {ballot.refused} windows refused, "
        f"{ballot.objections} of them by itself; the bus was busy {windows.failures} times",
        flush=True,
    )
    accelerator.end_training()


if __name__ == "__main__":
    main()
