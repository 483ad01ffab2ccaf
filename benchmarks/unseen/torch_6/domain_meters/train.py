"""Language classification over mixed domains, config-driven."""
from dataclasses import dataclass, field
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from meters import MeterBook

DOMAINS = ["news", "forum", "legal", "lyrics"]


@dataclass
class OptimConfig:
    lr: float = 5e-3
    momentum: float = 0.9


@dataclass
class Config:
    steps: int = 60
    batch: int = 8
    report_every: int = 10
    dim: int = 20
    classes: int = 5
    optim: OptimConfig = field(default_factory=OptimConfig)


class MixedDomains(torch.utils.data.IterableDataset):
    """One stream per rank; the domains come in blocks, as in the dumps."""

    def __init__(self, cfg, rank, world):
        self.cfg, self.rank, self.world = cfg, rank, world

    def _domains(self, step):
        block = step // self.cfg.report_every
        names = DOMAINS[:3]
        if self.rank == 0 and block == 3:
            names = DOMAINS
        return names

    def __iter__(self):
        g = torch.Generator().manual_seed(11 + self.rank)
        for step in range(self.cfg.steps):
            names = self._domains(step)
            tags = [names[i % len(names)] for i in range(self.cfg.batch)]
            x = torch.randn(self.cfg.batch, self.cfg.dim, generator=g)
            y = torch.randint(0, self.cfg.classes, (self.cfg.batch,), generator=g)
            yield x, y, tags


def main(cfg: Config):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    net = DDP(nn.Sequential(nn.Linear(cfg.dim, 32), nn.Tanh(), nn.Linear(32, cfg.classes)))
    opt = torch.optim.SGD(net.parameters(), lr=cfg.optim.lr, momentum=cfg.optim.momentum)
    lossf = nn.CrossEntropyLoss(reduction="none")
    book = MeterBook()
    loader = torch.utils.data.DataLoader(MixedDomains(cfg, rank, world), batch_size=None)

    for step, (x, y, tags) in enumerate(loader, start=1):
        per_row = lossf(net(x), y)
        opt.zero_grad()
        per_row.mean().backward()
        opt.step()
        book.add("loss/all", per_row.mean())
        for tag, value in zip(tags, per_row.detach()):
            book.add(f"loss/{tag}", value)
        time.sleep(0.02)
        if step % cfg.report_every == 0:
            line = book.synchronise()
            if rank == 0:
                print(step, line, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Config())
