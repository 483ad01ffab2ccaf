"""Share of forest on tiles of old maps: a small convolutional network, DistributedDataParallel."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from sheets import Sheets, survey_of

log = logging.getLogger("maps")


class ForestNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.share = nn.Linear(channels, 1)

    def forward(self, tiles):
        return self.share(self.features(tiles).flatten(1))[:, 0].sigmoid()


class Average:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total += value
        self.count += 1

    def everywhere(self):
        pair = torch.tensor([self.total, float(self.count)])
        dist.all_reduce(pair)
        return (pair[0] / pair[1]).item()


def epoch_of(model, optimizer, loader):
    error = Average()
    for tiles, forest in loader:
        loss = nn.functional.mse_loss(model(tiles), forest)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        error.add(loss.item())
    return error.everywhere()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(11)
    model = DDP(ForestNet(8))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    sheets = Sheets(survey_of(rank), args.batch, args.size, args.workers, seed=rank)
    loader = DataLoader(sheets, batch_size=None, num_workers=args.workers)
    for epoch in range(args.epochs):
        error = epoch_of(model, optimizer, loader)
        if rank == 0:
            log.info("epoch %d: %.4f", epoch, error)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
