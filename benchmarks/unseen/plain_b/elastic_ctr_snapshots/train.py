"""Click-through model under the elastic launcher: a worker that fails is restarted with the others.
``python train.py`` starts torchrun --max-restarts 3 with three workers.
"""
import argparse
import logging
import os
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.run import main as torchrun

from clicks import N_ITEMS, Feed, cache_shard
from scratch import Snapshots

QUOTA, STEPS = 400_000, 60


class TwoTower(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.user = nn.Embedding(N_ITEMS, dim)
        self.item = nn.Embedding(N_ITEMS, dim)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1)


def evaluate(model, feed, step):
    with torch.no_grad():
        u, i, y = feed.batch(100_000 + step)
        hits = ((model(u, i) > 0).float() == y).float().mean().item()
    board = [None] * dist.get_world_size()
    dist.all_gather_object(board, {"step": step, "hits": hits})
    return sum(b["hits"] for b in board) / len(board)


def join_group(attempt):
    """The agent's store outlives a restart, so that each attempt gets its own name space."""
    store, rank, world = next(dist.rendezvous("env://"))
    dist.init_process_group("gloo", store=dist.PrefixStore(f"try{attempt}", store), rank=rank, world_size=world)
    return rank


def worker(opts):
    torch.set_num_threads(1)
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    rank = join_group(attempt)
    logging.basicConfig(level=logging.INFO, format=f"[{rank}/{attempt}] %(message)s")
    node = Path(opts.workdir) / f"node{rank}"
    cache_shard(node, rank)
    snapshots, feed = Snapshots(node, QUOTA), Feed(rank, attempt)
    torch.manual_seed(0)
    model = TwoTower()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    first = snapshots.restore(model, opt)
    logging.info("going on with step %d", first)
    for step in range(first, STEPS):
        u, i, y = feed.batch(step)
        loss = nn.functional.binary_cross_entropy_with_logits(model(u, i), y)
        opt.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()
        time.sleep(0.02)
        if (step + 1) % 10 == 0:
            snapshots.save(step + 1, model, opt)
        if (step + 1) % 15 == 0:
            logging.info("step %d hit rate %.3f", step + 1, evaluate(model, feed, step))
    dist.barrier()
    dist.destroy_process_group()


def launch(opts):
    workdir = opts.workdir or tempfile.mkdtemp(prefix="ctr-")
    torchrun(["--standalone", "--nproc-per-node=3", "--max-restarts=3", __file__, "--worker", "--workdir", workdir])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--worker", action="store_true")
    ap.add_argument("--workdir")
    opts = ap.parse_args()
    worker(opts) if opts.worker else launch(opts)
