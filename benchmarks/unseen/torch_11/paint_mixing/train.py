"""Colour of a paint from its recipe."""

import argparse
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from colours import PIGMENTS, Swatches, collate, encode
from run import Run


def shared_folder():
    name = [tempfile.mkdtemp(prefix="paint_") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(name, src=0)
    return name[0]


def evaluate(model, loader):
    model.eval()
    total = torch.zeros(2)
    with torch.no_grad():
        for recipes, amounts, colours in loader:
            error = (model(encode(recipes, amounts)) - colours).abs().sum()
            total += torch.tensor([error.item(), colours.numel()])
    model.train()
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def fit(args, run):
    data = Swatches(args.swatches, seed=9)
    held_out = Swatches(args.swatches, seed=10)
    held_out = torch.utils.data.Subset(held_out, range(600))
    sampler = DistributedSampler(data, seed=1, drop_last=True)
    loader = DataLoader(data, args.batch, sampler=sampler, collate_fn=collate, drop_last=True)
    test = DataLoader(held_out, 50, sampler=DistributedSampler(held_out, shuffle=False), collate_fn=collate)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(len(PIGMENTS), 32), nn.ReLU(), nn.Linear(32, 3))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step, (recipes, amounts, colours) in enumerate(loader):
            loss = nn.functional.mse_loss(model(encode(recipes, amounts)), colours)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run.log(epoch=epoch, step=step, loss=loss.item())
            time.sleep(0.02)
        run.log(epoch=epoch, error=evaluate(model, test))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--swatches", type=int, default=1800)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with Run(shared_folder()) as run:
        fit(args, run)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
