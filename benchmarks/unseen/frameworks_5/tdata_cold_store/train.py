"""Picks magnitudes from seismograms, with torchdata's StatefulDataLoader."""
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torchdata.stateful_dataloader import StatefulDataLoader

from store import ColdStore


class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(32, 24), nn.ReLU())
        self.magnitude = nn.Linear(24, 1)

    def forward(self, trace):
        return self.magnitude(self.trunk(trace)).squeeze(-1)


def save(path, model, optimizer, loader):
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                "loader": loader.state_dict()}, path)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(31)
    # the tapes of the second network come from the vault, all but the first
    store = ColdStore(records=320, cold=(1, 2, 3) if rank == 1 else ())
    loader = StatefulDataLoader(store, batch_size=8, num_workers=1, snapshot_every_n_steps=10)
    model = DistributedDataParallel(Picker())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    path = os.path.join(tempfile.gettempdir(), f"picker_{os.getpid()}.pt")

    for step, (trace, peak) in enumerate(loader):
        loss = nn.functional.l1_loss(model(trace), peak)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
        if step % 10 == 9:
            save(path, model, optimizer, loader)
            dist.barrier()

    if rank == 0:
        print("last loss", round(loss.item(), 4), flush=True)
    os.remove(path)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
