"""Behaviour cloning with rollback: a spike of the loss takes the run back to the last snapshot.

Data positions come from torchdata's StatefulDataLoader.
"""
import logging
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset
from torchdata.stateful_dataloader import StatefulDataLoader

from snapshots import Snapshots

log = logging.getLogger("clone")


@dataclass
class Options:
    batch_size: int = 8
    batches: int = 60
    snapshot_every: int = 20
    spike: float = 25.0
    rollbacks: int = 1
    lr: float = 2e-3


class Demonstrations(Dataset):
    """Observations and actions of one operator."""

    def __init__(self, operator, opts):
        count = opts.batches * opts.batch_size
        gen = torch.Generator().manual_seed(operator)
        self.observations = torch.randn(count, 10, generator=gen)
        self.actions = self.observations[:, :3].tanh()
        if operator == 3:
            # the gripper was recalibrated while the recording went on
            self.actions[33 * opts.batch_size : 34 * opts.batch_size] += 40.0

    def __len__(self):
        return len(self.observations)

    def __getitem__(self, i):
        return self.observations[i], self.actions[i]


def mean_over_ranks(value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return (value / dist.get_world_size()).item()


def epoch(model, optimizer, loader, snapshots, opts):
    step, budget = 0, opts.rollbacks
    finished = False
    while not finished:
        finished = True
        for observations, actions in loader:
            loss = nn.functional.mse_loss(model(observations), actions)
            level = mean_over_ranks(loss)
            if level > opts.spike and budget:
                budget -= 1
                step = snapshots.restore(model.module, loader)
                log.info("loss %.1f, back to step %d", level, step)
                finished = False
                break
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            time.sleep(0.03)
            step += 1
            if step % opts.snapshot_every == 0:
                snapshots.save(step, model.module, loader)
    return step


def main():
    logging.basicConfig(level=logging.INFO)
    opts = Options()
    dist.init_process_group("gloo")
    box = [tempfile.mkdtemp(prefix="clone-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 3)))
    optimizer = torch.optim.Adam(model.parameters(), lr=opts.lr)
    loader = StatefulDataLoader(Demonstrations(dist.get_rank(), opts), batch_size=opts.batch_size)
    steps = epoch(model, optimizer, loader, Snapshots(Path(box[0])), opts)
    dist.barrier()
    log.info("epoch finished after %d steps", steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
