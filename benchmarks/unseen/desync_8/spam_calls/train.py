"""Tells calls of advertisers from others; Accelerate, one block of calls a step."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from phone import FIGURES, blocks_of


class Hardening:
    """For blocks of one campaign: without it the network would learn the habits of that campaign by heart."""

    def __init__(self, accelerator, model, criterion, share, size):
        self.accelerator, self.model, self.criterion = accelerator, model, criterion
        self.share, self.size = share, size
        self.done = 0

    def wanted(self, spam):
        return spam.mean().item() > self.share

    def __call__(self, figures, spam, direction):
        changed = figures + self.size * direction.sign()
        again = self.criterion(self.model(changed), spam)
        self.accelerator.backward(again)
        self.done += 1
        return again.detach()


def direction_of(figures):
    return torch.zeros_like(figures) if figures.grad is None else figures.grad.detach().clone()


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=4 * 560)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--harden-share", type=float, default=0.8, help="part of spam from which a block is hardened")
    parser.add_argument("--harden-size", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=0.05)
    return parser.parse_args()


def network(width=28):
    return nn.Sequential(nn.Linear(FIGURES, width), nn.ELU(), nn.Linear(width, 1), nn.Flatten(0))


def main():
    args = parse_args()
    torch.set_num_threads(1)
    set_seed(13)
    accelerator = Accelerator(cpu=True)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    model, optimizer, loader = accelerator.prepare(model, optimizer, blocks_of(args.blocks, args.rows))
    criterion = nn.BCEWithLogitsLoss()
    hardening = Hardening(accelerator, model, criterion, args.harden_share, args.harden_size)

    for step, (figures, spam) in enumerate(loader):
        figures.requires_grad_()
        loss = criterion(model(figures), spam)
        accelerator.backward(loss)
        if hardening.wanted(spam):
            hardening(figures.detach(), spam, direction_of(figures))
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            accelerator.print(f"step {step}: {loss.item():.3f}, {hardening.done} blocks hardened", flush=True)

    accelerator.wait_for_everyone()
    accelerator.print("ready", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
