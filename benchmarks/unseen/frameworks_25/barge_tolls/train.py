"""Tolls of barges, learnt on each canal alone and averaged every week, with Fabric."""

import argparse

import torch
from lightning.fabric import Fabric
from torch import nn

from canals import FEATURES, WEEKS, Canal
from office import Average, Publisher, exchange

DRY = {"Oldcut": {1: 5.0, 3: 3.0}, "Summit": {2: 4.0}}


class Tolls(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, cargo):
        return self.net(cargo).squeeze(-1)


def learn(model, optimizer, canal, week):
    """One week on one canal. The number of steps is the canal's own affair: nothing here is exchanged."""
    losses = []
    for cargo, toll in canal.week(week):
        loss = nn.functional.mse_loss(model(cargo), toll)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return len(losses), losses[-1]


def check(model, canal, week):
    """A canal looks at its largest errors only when the week was a long one."""
    if canal.weeks[week] < 45:
        return None
    with torch.no_grad():
        errors = [(model(cargo) - toll).abs().max().item() for cargo, toll in canal.week(week)]
    return max(errors)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=len(WEEKS), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(12)
    name = list(WEEKS)[fabric.global_rank]
    canal = Canal(name, fabric.global_rank, args.batch, DRY.get(name))
    model = Tolls()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    average = Average(fabric)
    publisher = None
    for week in range(len(canal.weeks)):
        steps, last = learn(model, optimizer, canal, week)
        worst = check(model, canal, week)
        barges = average(model, steps * args.batch)
        fabric.print(f"week {week}: {barges} barges")
        exchange(fabric, f"{name}: {steps} steps, {last:.4f}, worst {worst}", canal)
        if fabric.is_global_zero and week == len(canal.weeks) - 2:
            publisher = Publisher()
            publisher.take(model)
    fabric.barrier()
    if publisher is not None:
        publisher.join()
        print(f"{publisher.sent} bytes published")


if __name__ == "__main__":
    main()
