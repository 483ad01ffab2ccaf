"""Prices of opals with Fabric: every process follows the sales of one mine."""

import argparse
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from review import WorstStones, line, review
from stones import BANDS, MINES, Lot


class Appraiser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(BANDS, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, colours):
        return self.layers(colours).squeeze(-1)


def train_sale(fabric, model, optimizer, loader, pause):
    total = torch.zeros(())
    for colours, prices, _ in loader:
        optimizer.zero_grad()
        loss = nn.functional.huber_loss(model(colours), prices)
        fabric.backward(loss)
        optimizer.step()
        total += loss.detach()
        time.sleep(pause)
    return fabric.all_reduce(total / len(loader), reduce_op="mean").item()


def run(fabric, args):
    fabric.seed_everything(11)
    model = Appraiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = fabric.setup(model, optimizer)
    worst = WorstStones(fabric)
    mine = fabric.global_rank
    for sale in range(args.sales):
        train = DataLoader(Lot(mine, sale, args.stones, seed=1), batch_size=args.batch)
        held_out = DataLoader(Lot(mine, sale, args.stones // 4, seed=2), batch_size=args.batch)
        loss = train_sale(fabric, model, optimizer, train, args.pause)
        fabric.print(line(sale, loss, review(fabric, model, held_out, worst)), flush=True)
    fabric.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", type=int, default=9)
    parser.add_argument("--stones", type=int, default=480)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=len(MINES), strategy="ddp")
    fabric.launch()
    run(fabric, args)


if __name__ == "__main__":
    main()
