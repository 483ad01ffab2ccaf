"""Pressure of a bow from its sound; Fabric with steps of a given number of frames."""

import argparse
import copy
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from balance import Balance
from strokes import BANDS, Strokes


def listen(module, recordings=60):
    """The main process's own test on recordings that no one plays."""
    module = copy.deepcopy(module).eval()
    generator = torch.Generator().manual_seed(1)
    errors = []
    with torch.no_grad():
        for _ in range(recordings):
            sound = torch.randn(30, BANDS, generator=generator)
            errors.append(float((module(sound).squeeze(1) - sound[:, 2:5].mean(1)).abs().mean()))
            time.sleep(0.02)
    return sum(errors) / len(errors)


def rehearse(fabric, model, optimizer, loader, balance, listen_every):
    for number, (sound, pressure) in enumerate(loader):
        balance.add(sound)
        with fabric.no_backward_sync(model, enabled=not balance.full):
            fabric.backward(nn.functional.mse_loss(model(sound).squeeze(1), pressure))
        if balance.full:
            scale = balance.take()
            for parameter in model.parameters():
                parameter.grad.mul_(scale)
            optimizer.step()
            optimizer.zero_grad()
        if fabric.is_global_zero and number % listen_every == listen_every - 1:
            print(f"recording {number}: {balance.steps} steps, error {listen(model.module):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=420)
    parser.add_argument("--frames", type=int, default=400)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    torch.manual_seed(10)
    network = nn.Sequential(nn.Linear(BANDS, 26), nn.Tanh(), nn.Linear(26, 1))
    model, optimizer = fabric.setup(network, torch.optim.SGD(network.parameters(), lr=args.lr))
    loader = DataLoader(Strokes(fabric.global_rank, args.recordings), batch_size=None)
    balance = Balance(fabric, args.frames)
    rehearse(fabric, model, optimizer, loader, balance, listen_every=130)
    fabric.barrier()
    fabric.print(f"done after {balance.steps} steps", flush=True)


if __name__ == "__main__":
    main()
