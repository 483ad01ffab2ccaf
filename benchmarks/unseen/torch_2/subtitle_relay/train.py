"""Subtitle translation in three pipeline stages: embed -> mix -> emit (GPipe schedule)."""
import argparse
import functools
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from manifest import Manifest

VOCAB, WIDTH, LENGTH = 60, 16, 10


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(LENGTH, LENGTH)
        self.ff = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, WIDTH))

    def forward(self, x):
        return x + self.ff(x + self.time(x.transpose(1, 2)).transpose(1, 2))


PARTS = (
    lambda: nn.Embedding(VOCAB, WIDTH),
    lambda: nn.Sequential(Mixer(), Mixer()),
    lambda: nn.Linear(WIDTH, VOCAB),
)


def token_loss(logits, target):
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


class Relay:
    """One schedule per number of micro-batches, all over the same part of the model."""

    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        self.part = PARTS[rank]()
        self.opt = torch.optim.Adam(self.part.parameters(), lr=1e-3)

    @functools.lru_cache(maxsize=None)
    def schedule(self, n_micro):
        stage = PipelineStage(self.part, self.rank, self.world, torch.device("cpu"))
        return ScheduleGPipe(stage, n_micro, loss_fn=token_loss)

    def step(self, source, target, n_micro):
        self.opt.zero_grad()
        losses = []
        if self.rank == 0:
            self.schedule(n_micro).step(source)
        elif self.rank == self.world - 1:
            self.schedule(n_micro).step(target=target, losses=losses)
        else:
            self.schedule(n_micro).step()
        self.opt.step()
        return sum(float(l) for l in losses) / max(len(losses), 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batches", type=int, default=100)
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    relay = Relay(rank, world)
    emits = rank == world - 1
    manifest = Manifest(args.batches, drop_untranslated=emits)
    for k, rows, n_micro in manifest:
        gen = torch.Generator().manual_seed(k)
        source = torch.randint(VOCAB, (rows, LENGTH), generator=gen)
        loss = relay.step(source, source.flip(1), n_micro)
        time.sleep(0.03)
        if emits and k % 10 == 0:
            print(f"batch {k} rows {rows} loss {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
