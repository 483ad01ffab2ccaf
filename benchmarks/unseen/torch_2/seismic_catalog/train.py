"""P-wave picker. Station corrections are refreshed between epochs where a newer bulletin is at hand."""
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from catalog import StationCatalog, Waveforms

EPOCHS = 6
BULLETINS = {1: {2: 300}}      # rank -> epoch -> number of new entries


class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(3, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def before_epoch(epoch, rank, catalog):
    entries = BULLETINS.get(rank, {}).get(epoch, 0)
    if entries:
        print(f"rank {rank}: bulletin with {entries} entries", flush=True)
        catalog.refresh_in_background(entries)


def train():
    rank = int(os.environ["RANK"])
    catalog = StationCatalog()
    loader = DataLoader(
        Waveforms(catalog, 160, rank), batch_size=8, num_workers=2, multiprocessing_context="fork"
    )
    model = DistributedDataParallel(Picker())
    optim = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(EPOCHS):
        before_epoch(epoch, rank, catalog)
        running = 0.0
        for trace, label in loader:
            optim.zero_grad()
            loss = bce(model(trace), label)
            loss.backward()
            optim.step()
            running += loss.item()
            time.sleep(0.02)
        if rank == 0:
            print(f"epoch {epoch}: {running / len(loader):.4f} (corrections v{catalog.version})", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    try:
        train()
    finally:
        dist.destroy_process_group()
