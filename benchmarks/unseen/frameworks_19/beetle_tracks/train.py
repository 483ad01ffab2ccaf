"""Predicts the next step of a beetle from its track so far. One arena per process, with Fabric."""

import argparse
import logging
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from memory import Running, pieces
from tracks import arena_of, keep_list, pad

log = logging.getLogger("beetles")


class Walker(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 2)

    def forward(self, steps):
        hidden, _ = self.rnn(steps)
        return self.head(hidden)


def squared_error(model, tracks):
    """The sum of squared errors of the next steps, and how many they are."""
    steps, mask = pad(tracks)
    guess = model(steps[:, :-1])
    error = (guess - steps[:, 1:]).square().sum(-1) * mask[:, 1:]
    return error.sum(), mask[:, 1:].sum()


class Study:
    def __init__(self, fabric, args):
        self.fabric = fabric
        self.args = args
        model = Walker(args.hidden)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        arena = arena_of(fabric.global_rank, args.recordings)
        loader = DataLoader(arena, args.batch, collate_fn=keep_list)
        self.loader = fabric.setup_dataloaders(loader, use_distributed_sampler=False)
        self.running = Running()

    def step(self, tracks):
        """One update with the gradients of the whole batch, however many pieces it takes."""
        positions = sum(len(track) - 1 for track in tracks)
        total = 0.0
        for piece in pieces(tracks, self.args.budget):
            error, _ = squared_error(self.model, piece)
            self.fabric.backward(error / positions)
            total += error.item()
        self.fabric.clip_gradients(self.model, self.optimizer, max_norm=1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return torch.tensor([total, float(positions)])

    def epoch(self, number):
        for tracks in self.loader:
            time.sleep(0.02)  # decoding
            sums = self.fabric.all_gather(self.step(tracks)).sum(0)
            self.running.add((sums[0] / sums[1]).item(), sums[1].item())
        if self.fabric.is_global_zero:
            log.info("epoch %d: %.4f", number, self.running.mean)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=800)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--budget", type=int, default=160)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(4)
    study = Study(fabric, args)
    for number in range(args.epochs):
        study.epoch(number)
    fabric.barrier()


if __name__ == "__main__":
    main()
