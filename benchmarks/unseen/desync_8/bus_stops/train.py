"""How many passengers get on at a stop; Fabric, a bus line for each process."""

import argparse

import torch
from lightning.fabric import Fabric
from torch import nn

from rides import WIDTH, rides_of


def cut(fabric, stops, boarding, size):
    own = -(-len(stops) // size)
    passes = int(fabric.all_reduce(torch.tensor(float(own)), reduce_op="max"))
    pieces = []
    for number in range(passes):
        part = slice(number * size, (number + 1) * size)
        if number < own:
            pieces.append((stops[part], boarding[part], 1.0))
        else:
            pieces.append((stops[:1], boarding[:1], 0.0))
    return pieces


class Boarding(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, stops):
        return self.layers(stops).squeeze(-1)


class Step:
    def __init__(self, fabric, model, optimizer, size):
        self.fabric, self.model, self.optimizer, self.size = fabric, model, optimizer, size

    def __call__(self, stops, boarding):
        pieces = cut(self.fabric, stops, boarding, self.size)
        total = 0.0
        for number, (part, target, weight) in enumerate(pieces):
            more = number + 1 < len(pieces)
            with self.fabric.no_backward_sync(self.model, enabled=more):
                loss = nn.functional.mse_loss(self.model(part), target, reduction="sum") / len(stops)
                self.fabric.backward(weight * loss)
            total += weight * loss.item()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rides", type=int, default=520)
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(17, verbose=False)
    model = Boarding()
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=args.lr))
    loader = fabric.setup_dataloaders(rides_of(fabric.global_rank, args.rides), use_distributed_sampler=False)
    step = Step(fabric, model, optimizer, args.size)
    for ride, (stops, boarding) in enumerate(loader):
        loss = step(stops, boarding)
        if ride % 100 == 0:
            fabric.print(f"ride {ride}: {loss:.3f}", flush=True)
    fabric.barrier()
    fabric.print("end of the line", flush=True)


if __name__ == "__main__":
    main()
