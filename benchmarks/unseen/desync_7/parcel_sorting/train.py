"""Estimates the postage of parcels on the belt, with accumulated gradients."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from parcels import SENSORS, Parcels, log_weight


class PostageNet(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(SENSORS, width),
            nn.LeakyReLU(),
            nn.Linear(width, width),
            nn.LeakyReLU(),
        )
        self.head = nn.Linear(width, 1)

    def forward(self, seen):
        return self.head(self.body(seen)).squeeze(1)


def train(accelerator, model, optimizer, loader, report):
    smooth, unusable = 1.0, 0
    for batch, (seen, weight) in enumerate(loader, start=1):
        with accelerator.accumulate(model):
            estimate = model(seen)
            loss = nn.functional.l1_loss(estimate, log_weight(weight))
            if not torch.isfinite(loss):
                unusable += 1
                continue
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        smooth += 0.02 * (loss.item() - smooth)
        if batch % report == 0:
            accelerator.print(f"batch {batch}: {smooth:.3f}, {unusable} unusable", flush=True)
    accelerator.wait_for_everyone()
    return smooth


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=760, help="of a process")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--report", type=int, default=80)
    args = parser.parse_args()

    torch.set_num_threads(1)
    set_seed(8)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.accumulate)
    parcels = Parcels(args.batches * args.batch_size * accelerator.num_processes)
    loader = DataLoader(parcels, batch_size=args.batch_size)
    network = PostageNet()
    optimizer = torch.optim.Adam(network.parameters(), lr=args.lr)
    model, optimizer, loader = accelerator.prepare(network, optimizer, loader)
    train(accelerator, model, optimizer, loader, args.report)
    accelerator.end_training()


if __name__ == "__main__":
    main()
