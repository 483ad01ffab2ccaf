"""Pitch of bells from the profile of the mould. Every process learns from the casts of one foundry."""
import argparse
import logging
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from snapshots import SnapshotWriter

log = logging.getLogger("bells")

FOUNDRIES = {
    "lough": ["treble", "second", "third", "tenor", "angelus", "curfew"],
    "taylor": ["old_tom", "emmanuel", "sanctus", "great_paul", "pancake", "vesper"],
    "whitelaw": ["kate", "big_ann", "quarter", "tenor/recast", "seventh", "eighth"],
}


class Foundry:
    """Profiles and partials, cast by cast."""

    def __init__(self, name, profiles, seed):
        self.name = name
        self.casts = FOUNDRIES[name]
        self.profiles = profiles
        self.seed = seed

    def batches(self, cast, size):
        g = torch.Generator().manual_seed(self.seed * 64 + cast)
        alloy = 0.2 * cast
        for _ in range(self.profiles // size):
            profile = torch.rand(size, 24, generator=g)
            hum = (profile[:, :8].mean(1) - profile[:, 8:16].mean(1)) * 3 + alloy
            strike = torch.sin(4 * profile[:, 16:].mean(1)) + alloy
            yield profile, torch.stack([hum, strike], 1)


class PitchNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.partials = nn.Linear(width, 2)

    def forward(self, profile):
        return self.partials(self.body(profile))


class Run:
    def __init__(self, args, foundry, writer):
        torch.manual_seed(args.seed)
        self.args = args
        self.foundry = foundry
        self.writer = writer
        self.model = DDP(PitchNet(args.width))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.step = 0

    def learn_cast(self, cast):
        last = 0.0
        for profile, partials in self.foundry.batches(cast, self.args.batch):
            loss = nn.functional.mse_loss(self.model(profile), partials)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            last = loss.item()
        return last

    def snapshot(self, cast):
        payload = {"step": self.step, "model": self.model.module.state_dict(), "foundry": self.foundry.name}
        self.writer.save(self.step, self.foundry.casts[cast], payload)

    def all_casts(self):
        for cast in range(len(self.foundry.casts)):
            loss = self.learn_cast(cast)
            log.info("%s, %s: %.4f", self.foundry.name, self.foundry.casts[cast], loss)
            self.snapshot(cast)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profiles", type=int, default=3200)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--out", default=None)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    out = args.out or os.path.join(tempfile.gettempdir(), f"bell_casting_{os.environ['MASTER_PORT']}")
    name = list(FOUNDRIES)[rank % len(FOUNDRIES)]
    Run(args, Foundry(name, args.profiles, seed=rank), SnapshotWriter(out)).all_casts()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
