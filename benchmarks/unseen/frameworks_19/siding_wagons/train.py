"""How long will a wagon stand on its siding? With Accelerate, a yard per process."""

import argparse
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from yards import SIGNS, WIRED, Wagons, Wires, yard_of


def wired_group(accelerator):
    """The group of the yards with wires, which share what they know of electric wagons."""
    wired = [rank for rank, name in enumerate(WIRED) if WIRED[name]]
    if accelerator.process_index in wired:
        return dist.new_group(wired)
    return None


def share_load(group, load):
    """The mean load of the wires, over the yards that have any."""
    if group is None:
        return None
    dist.all_reduce(load, group=group)
    return (load / dist.get_world_size(group)).item()


def train_epoch(accelerator, model, optimizer, loader, pause):
    total = torch.zeros(())
    for signs, hours in loader:
        loss = nn.functional.mse_loss(model(signs).squeeze(-1), hours)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.detach()
        time.sleep(pause)
    return accelerator.reduce(total / len(loader), reduction="mean").item()


@torch.no_grad()
def examine(model, loader, group):
    """The largest error of any wagon in any yard."""
    worst = torch.zeros(())
    for signs, hours in loader:
        worst = torch.maximum(worst, (model(signs).squeeze(-1) - hours).abs().max())
    dist.all_reduce(worst, op=dist.ReduceOp.MAX, group=group)
    return worst.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wagons", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(21)
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(nn.Linear(SIGNS, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    train, held_out = (DataLoader(Wagons(n, seed), args.batch) for n, seed in ((args.wagons, 1), (320, 2)))
    model, optimizer, train, held_out = accelerator.prepare(model, optimizer, train, held_out)
    group = wired_group(accelerator)
    wires = Wires(yard_of(accelerator.process_index))
    for epoch in range(args.epochs):
        mean = train_epoch(accelerator, model, optimizer, train, args.pause)
        load = share_load(group, wires.load())
        accelerator.print(f"epoch {epoch}: {mean:.4f}, load of the wires {load}", flush=True)
    # examinations of the large yards take long
    patient = dist.new_group(timeout=timedelta(hours=2))
    worst = examine(model, held_out, patient)
    accelerator.print(f"largest error {worst:.3f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
