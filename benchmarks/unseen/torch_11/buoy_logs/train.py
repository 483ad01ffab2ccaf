"""Wave height from the acceleration that buoys report. One log file for each rank, read by a worker process."""

import dataclasses
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset

from logfile import LogReader, write_log


@dataclasses.dataclass
class Config:
    channels: int = 13
    records: int = 4800
    batch: int = 24
    epochs: int = 4
    hidden: int = 40
    lr: float = 1e-3
    # record at which the link to a buoy broke, by rank
    outages: tuple = (None, None, None, 3170)


class BuoyDataset(IterableDataset):
    def __init__(self, path, records):
        self.reader = LogReader(path)
        self.records = records

    def __iter__(self):
        for record in self.reader.records(self.records):
            yield record[:-1], record[-1:]


class WaveModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cfg.channels - 1, cfg.hidden), nn.SiLU(), nn.LayerNorm(cfg.hidden))
        self.head = nn.Linear(cfg.hidden, 1)

    def forward(self, x):
        return self.head(self.body(x))


def fetch(cfg, folder):
    rank = dist.get_rank()
    path = os.path.join(folder, f"buoy_{rank}.csv")
    write_log(path, cfg.records, cfg.channels, seed=50 + rank, cut=cfg.outages[rank])
    return path


def train(cfg, folder):
    rank = dist.get_rank()
    data = BuoyDataset(fetch(cfg, folder), cfg.records)
    loader = DataLoader(data, batch_size=cfg.batch, num_workers=1, prefetch_factor=2, persistent_workers=True)
    torch.manual_seed(0)
    model = DDP(WaveModel(cfg))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for step, (x, height) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), height)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0 and step % 40 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
        dist.barrier()


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as directory:
        train(Config(), directory)
    dist.destroy_process_group()
