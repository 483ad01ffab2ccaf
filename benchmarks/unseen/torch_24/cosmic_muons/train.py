"""Zenith angles of muons, trained by parameter averaging: local steps, then a mean over all telescopes."""
import argparse
import functools
import logging
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader

from shards import ShardCache
from tracks import PLANES, TrackStream, night, shard_sizes

log = logging.getLogger("muons")


class Averager:
    """Mean of the parameters over all processes, every `period` steps."""

    def __init__(self, model, period):
        self.model = model
        self.period = period
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        if self.steps % self.period:
            return
        flat = nn.utils.parameters_to_vector(self.model.parameters())
        dist.all_reduce(flat)
        nn.utils.vector_to_parameters(flat / dist.get_world_size(), self.model.parameters())


def train(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.8)
    averager = Averager(model, args.period)
    for step, (hits, angle) in enumerate(loader):
        loss = nn.functional.mse_loss(model(hits)[:, 0], angle)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averager.step()
        time.sleep(args.pause)
        if step % 50 == 0 and dist.get_rank() == 0:
            log.info("step %d loss %.4f", step, loss.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=40)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--per-shard", type=int, default=10)
    parser.add_argument("--period", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--cache-kib", type=int, default=96)
    parser.add_argument("--pause", type=float, default=0.04)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    telescope = dist.get_rank()
    folder = tempfile.mkdtemp(prefix="cosmic_muons_")
    cache = ShardCache(folder, shard_sizes(telescope, args.shards),
                       functools.partial(night, telescope=telescope), args.cache_kib * 1024)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(PLANES, 24), nn.Tanh(), nn.Linear(24, 1))
    loader = DataLoader(TrackStream(cache, args.batch, args.per_shard), batch_size=None, num_workers=1)
    batches = iter(loader)
    cache.start()
    train(args, model, batches)
    cache.stop()
    dist.barrier()
    shutil.rmtree(folder, ignore_errors=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
