"""Depth of the reef below the sonar: each boat learns from its transects, season after season."""
import argparse
import logging
import random
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from archive import Archive

log = logging.getLogger("reef")

# the transects of the three boats; a weather station made the second one stay close to its harbour in spring
CRUISES = (
    ("north wall", "lagoon", "outer rim", "channel", "pinnacle"),
    ("harbour", "garden", "harbour mouth", "garden", "drop-off"),
    ("east wall", "wreck", "sand flat", "spur", "terrace"),
)


class Depth(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(depth, width), nn.GELU(), nn.Linear(width, width), nn.GELU(),
                                 nn.Linear(width, 1))

    def forward(self, pings):
        return self.net(pings)[:, 0]


class Boat:
    def __init__(self, args, archive):
        self.args = args
        self.archive = archive
        self.rank = dist.get_rank()
        self.rng = random.Random(self.rank)
        self.transect = None

    def sail(self, season):
        cruise = CRUISES[self.rank % len(CRUISES)]
        self.transect = self.archive.open(cruise[season % len(cruise)])

    def batch(self):
        start = self.rng.randrange(self.transect.length - self.args.batch)
        pings = torch.tensor(self.transect.window(start, self.args.batch))
        return pings, pings.square().mean(1) - pings[:, 0] * pings[:, -1]


def train_season(boat, model, optimizer, args):
    boat_loss = 0.0
    for _ in range(args.steps):
        pings, depth = boat.batch()
        loss = nn.functional.mse_loss(model(pings), depth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        boat_loss += loss.item() / args.steps
        time.sleep(args.pause)
    return boat_loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seasons", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[boat {rank}] %(message)s")
    folder = [tempfile.mkdtemp(prefix="reef-") if rank == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    archive = Archive(folder[0])
    boat = Boat(args, archive)
    torch.manual_seed(0)
    model = DDP(Depth(archive.depth, args.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for season in range(args.seasons):
        boat.sail(season)
        loss = train_season(boat, model, optimizer, args)
        log.info("season %d: loss %.4f", season, loss)
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
