"""Load of electricity meters a day ahead. Districts keep their data and average their models with one another."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gossip import ExponentialGossip


def district(number, days):
    g = torch.Generator().manual_seed(300 + number)
    hours = torch.arange(24 * days) / 24.0
    load = 1 + 0.4 * torch.sin(2 * torch.pi * hours + number) + 0.1 * torch.randn(len(hours), generator=g)
    windows = load.unfold(0, 48, 3)
    return TensorDataset(windows[:, :24], windows[:, 24:])


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, 24)

    def forward(self, day):
        return day + self.head(self.body(day))


def broadcast_start(model):
    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=120)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--mix-every", type=int, default=40)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = Forecaster(args.hidden)
    broadcast_start(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gossip = ExponentialGossip(model)
    shuffle = torch.Generator().manual_seed(rank)
    loader = DataLoader(district(rank, args.days), args.batch, shuffle=True, drop_last=True, generator=shuffle)
    step = 0
    for epoch in range(args.epochs):
        for day, following in loader:
            loss = nn.functional.mse_loss(model(day), following)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.mix_every == 0:
                gossip.mix()
            time.sleep(0.02)
        print(f"district {rank} epoch {epoch} loss {loss.item():.4f} rounds {gossip.round}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
