"""Forecast of river levels with Fabric."""

import argparse

import torch
from lightning.fabric import Fabric, seed_everything
from torch import nn
from torch.utils.data import DataLoader

from averaging import SlowWeights
from gauges import LAGS, Gauges, passes


def build(hidden):
    return nn.Sequential(nn.Linear(LAGS, hidden), nn.Tanh(), nn.Linear(hidden, 1), nn.Flatten(0))


def fit(fabric, args):
    network = build(args.hidden)
    optimizer = torch.optim.SGD(network.parameters(), lr=args.lr)
    gauges = Gauges(fabric.global_rank, args.batch)
    loader = DataLoader(gauges, batch_size=None, shuffle=True)
    slow = SlowWeights(network, loader, args.averages)
    model, optimizer = fabric.setup(network, optimizer)
    running = 0.0
    for step, (lags, level) in enumerate(passes(loader, args.steps), start=1):
        loss = nn.functional.mse_loss(model(lags), level)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        slow.after_step(step, network)
        running += 0.03 * (loss.item() - running)
        if step % 90 == 0:
            fabric.print(f"step {step}: {running:.4f}, {slow.updates} averages", flush=True)
    fabric.barrier()
    slow.copy_to(network)
    return network


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=720)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--averages", type=int, default=4, help="of the weights, in a pass")
    args = parser.parse_args()
    torch.set_num_threads(1)
    seed_everything(6, verbose=False)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fit(fabric, args)
    fabric.print("done", flush=True)


if __name__ == "__main__":
    main()
