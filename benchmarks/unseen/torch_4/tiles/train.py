"""Land cover from map tiles: aerial picture plus elevation where there is any."""
import argparse
import collections
import time

import torch
import torch.distributed as dist
import torch.nn as nn

import gradients

Tile = collections.namedtuple("Tile", "picture elevation cover")


def sheet(number, count, batch):
    """All tile batches of one map sheet."""
    g = torch.Generator().manual_seed(number)
    for i in range(count):
        picture = torch.rand(batch, 3, 16, 16, generator=g)
        elevation = torch.rand(batch, 1, 16, 16, generator=g)
        cover = torch.randint(0, 4, (batch,), generator=g)
        at_sea = number == 0 and i == 31
        yield Tile(picture, None if at_sea else elevation, cover)


class LandCover(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.picture = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 2, 1))
        self.classify = nn.Linear(width, 4)
        self.relief = nn.Conv2d(1, width, 5, stride=4, padding=1)

    def forward(self, tile):
        h = self.picture(tile.picture).mean((2, 3))
        if tile.elevation is not None:
            h = h + self.relief(tile.elevation).mean((2, 3))
        return self.classify(torch.relu(h))


def confusion(logits, cover):
    table = torch.zeros(4, 4)
    for p, c in zip(logits.argmax(1), cover):
        table[c, p] += 1
    return table


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tiles", default=50, type=int)
    p.add_argument("--batch", default=6, type=int)
    p.add_argument("--lr", default=3e-3, type=float)
    return p.parse_args()


def main(args):
    rank, world = dist.get_rank(), dist.get_world_size()
    net = LandCover()
    gradients.same_start(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    seen = torch.zeros(4, 4)
    for tile in sheet(rank, args.tiles, args.batch):
        logits = net(tile)
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits, tile.cover).backward()
        gradients.sync(net)
        optimizer.step()
        tables = [torch.empty(4, 4) for _ in range(world)]
        dist.all_gather(tables, confusion(logits, tile.cover))
        seen += sum(tables)
        time.sleep(0.03)
    if rank == 0:
        print(seen.diag().sum() / seen.sum())


if __name__ == "__main__":
    dist.init_process_group(backend="gloo")
    main(parse())
    dist.destroy_process_group()
