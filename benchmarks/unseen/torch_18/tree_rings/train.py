"""Climate and fires from tree rings, in several processes without DDP."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader

from averaging import LossTable, average_gradients, broadcast_parameters
from cores import RINGS, SEASONS, forest_of

log = logging.getLogger("rings")


class RingNet(nn.Module):
    """One trunk; every core has a climate, and scarred ones have the season of the fire as well."""

    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(RINGS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.climate = nn.Linear(width, 1)
        self.season = nn.Linear(width, SEASONS)

    def loss(self, rings, climate, scarred, season):
        hidden = self.trunk(rings)
        loss = nn.functional.mse_loss(self.climate(hidden)[:, 0], climate)
        if scarred.any():
            loss = loss + nn.functional.cross_entropy(self.season(hidden[scarred]), season[scarred])
        return loss


def run_epoch(model, optimizer, loader, table):
    for batch in loader:
        optimizer.zero_grad()
        loss = model.loss(*batch)
        loss.backward()
        average_gradients(model)
        optimizer.step()
        table.add(loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(message)s")
    torch.manual_seed(rank)
    model = RingNet(args.width)
    broadcast_parameters(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    forest = forest_of(rank)
    log.info("%d cores, %.2f of them scarred", len(forest), forest.share_scarred())
    loader = DataLoader(forest, batch_size=args.batch)
    table = LossTable(window=50)
    for epoch in range(args.epochs):
        run_epoch(model, optimizer, loader, table)
        log.info("epoch %d: the worst forest is %d with %.3f", epoch, *table.worst())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
