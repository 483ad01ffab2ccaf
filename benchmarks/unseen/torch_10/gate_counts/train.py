"""Passengers per gate and quarter of an hour. Every rank reads the gates of one terminal."""

import logging
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from guard import SpikeGuard

log = logging.getLogger("gates")


@dataclass(frozen=True)
class Config:
    features: int = 10
    records: int = 2400
    batch_size: int = 20
    epochs: int = 3
    lr: float = 5e-3
    log_every: int = 20
    # (terminal, first record, last record): counters that were replaced and began at a wrong offset
    recount: tuple = ((1, 1240, 1275),)


class TerminalGates(Dataset):
    """In the order of time."""

    def __init__(self, terminal, cfg):
        g = torch.Generator().manual_seed(70 + terminal)
        weights = torch.randn(cfg.features, 1, generator=torch.Generator().manual_seed(7))
        self.x = torch.randn(cfg.records, cfg.features, generator=g)
        self.y = self.x @ weights + 0.3 * torch.randn(cfg.records, 1, generator=g)
        for where, begin, end in cfg.recount:
            if where == terminal:
                self.y[begin:end] += 60.0

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def run_epoch(epoch, model, loader, optimizer, guard, cfg):
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.huber_loss(model(x), y, delta=5.0)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        guard.after_step(loss.item())
        time.sleep(0.02)
        if dist.get_rank() == 0 and step % cfg.log_every == 0:
            log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    cfg = Config()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(cfg.features, 32), nn.ReLU(), nn.Linear(32, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    guard = SpikeGuard(model, optimizer)
    loader = DataLoader(TerminalGates(dist.get_rank(), cfg), batch_size=cfg.batch_size)
    for epoch in range(cfg.epochs):
        run_epoch(epoch, model, loader, optimizer, guard, cfg)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
