"""Alarm or all-clear? Marmot whistles from collars. DDP, torchdata's StatefulDataLoader.

    torchrun --nproc-per-node 3 train.py
"""
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

from collars import Whistles

SAVE_EVERY = 10


class WhistleNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, width, 9, stride=4), nn.ReLU(), nn.Conv1d(width, width, 9, stride=4), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 2))

    def forward(self, wave):
        return self.layers(wave[:, None])


def snapshot(folder, rank, step, model, loader):
    """The loader's position is different on every rank, the weights are not."""
    torch.save({"step": step, "loader": loader.state_dict()}, os.path.join(folder, f"loader{rank}.pt"))
    if rank == 0:
        torch.save(model.module.state_dict(), os.path.join(folder, "model.pt"))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(WhistleNet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = Whistles(360)
    sampler = DistributedSampler(data, shuffle=False)
    loader = StatefulDataLoader(data, batch_size=2, sampler=sampler, num_workers=0)

    with tempfile.TemporaryDirectory() as folder:
        for step, (wave, kind) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(wave), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % SAVE_EVERY == 0:
                snapshot(folder, rank, step, model, loader)
                if rank == 0:
                    print(f"step {step}: {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
