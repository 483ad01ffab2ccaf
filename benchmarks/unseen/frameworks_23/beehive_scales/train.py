"""The next day's gain of a beehive, with Fabric: one apiary per process, compared within panels in the main season."""

import argparse
import os
import time

import torch
import torch.distributed as dist
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from apiary import APIARIES, CHANNELS, Panel, recordings


class Season:
    def __init__(self, fabric, args):
        self.fabric = fabric
        self.args = args
        model = nn.Sequential(nn.Linear(CHANNELS, 24), nn.GELU(), nn.Linear(24, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        data = TensorDataset(*recordings(fabric.global_rank, args.days, seed=21))
        loader = DataLoader(data, args.batch, shuffle=True)
        self.loader = fabric.setup_dataloaders(loader, use_distributed_sampler=False)

    def epoch(self):
        total = torch.zeros(())
        for climate, gain in self.loader:
            error = nn.functional.mse_loss(self.model(climate).squeeze(-1), gain)
            self.fabric.backward(error)
            self.fabric.clip_gradients(self.model, self.optimizer, max_norm=1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            total += error.detach()
            time.sleep(0.02)
        return total / len(self.loader)

    def spring(self):
        for _ in range(self.args.spring):
            mean = self.fabric.all_reduce(self.epoch(), reduce_op="mean")
            self.fabric.print(f"spring: {mean.item():.4f}", flush=True)

    def summer(self):
        panel = Panel(self.fabric)
        office = dist.new_group()  # figures for the beekeepers' office, apart from the gradients
        for _ in range(self.args.summer):
            mean = self.epoch()
            ahead = panel.compare(mean)
            dist.all_reduce(mean, group=office)
            mean /= self.fabric.world_size
            self.fabric.print(f"summer: {mean.item():.4f} ({ahead:+.4f})", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=720)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--spring", type=int, default=3)
    parser.add_argument("--summer", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=int(os.environ.get("WORLD_SIZE", len(APIARIES))), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(2)
    season = Season(fabric, args)
    season.spring()
    season.summer()
    fabric.barrier()
    fabric.print("hives closed", flush=True)


if __name__ == "__main__":
    main()
