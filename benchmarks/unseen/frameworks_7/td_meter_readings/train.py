"""Anomaly scores for electricity meters; the readings are indexed by a separate job."""
import os
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torchdata.stateful_dataloader import StatefulDataLoader

from readings import MeterReadings, index_readings

DISTRICTS_PER_RANK = 4
ROWS = 48


class AutoEncoder(nn.Module):
    def __init__(self, width=24, code=6):
        super().__init__()
        self.enc = nn.Linear(width, code)
        self.dec = nn.Linear(code, width)

    def forward(self, x):
        return self.dec(torch.relu(self.enc(x)))


class Job:
    def __init__(self):
        dist.init_process_group("gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.folder = Path(tempfile.gettempdir()) / f"meters-{os.getppid()}"
        if self.rank == 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            index_readings(self.folder, self.world * DISTRICTS_PER_RANK, ROWS)
        dist.barrier()
        torch.manual_seed(5)
        self.model = DDP(AutoEncoder())
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def loader(self):
        mine = range(self.rank * DISTRICTS_PER_RANK, (self.rank + 1) * DISTRICTS_PER_RANK)
        data = MeterReadings(self.folder, list(mine), ROWS)
        return StatefulDataLoader(data, batch_size=8, num_workers=1, prefetch_factor=2)

    def fit(self, epochs):
        for epoch in range(epochs):
            loader = self.loader()
            for step, x in enumerate(loader):
                loss = (self.model(x) - x).square().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                time.sleep(0.02)
                if self.rank == 0 and step % 8 == 0:
                    print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
            self.position = loader.state_dict()
        dist.barrier()


if __name__ == "__main__":
    job = Job()
    job.fit(epochs=2)
    dist.destroy_process_group()
