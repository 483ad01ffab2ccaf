import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from data import CHANNELS, Spectra
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


class CarbonNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = nn.Sequential(nn.Linear(CHANNELS, 64), nn.GELU(), nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.stack(x)


def fit(model, loader, optimizer, rank):
    model.train()
    running = 0.0
    for i, (spectrum, carbon) in enumerate(loader):
        time.sleep(0.02)  # baseline correction
        if not torch.isfinite(spectrum).all():
            continue
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(spectrum), carbon)
        loss.backward()
        optimizer.step()
        running += loss.item()
        if rank == 0 and i % 200 == 0:
            print(f"batch {i} loss {running / (i + 1):.4f}", flush=True)
    return running / len(loader)


def main():
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    torch.manual_seed(5)
    model = DDP(CarbonNet())
    loader = DataLoader(Spectra(rank, 16 * 1000), batch_size=16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    mean = torch.tensor(fit(model, loader, optimizer, rank))
    dist.barrier()
    dist.all_reduce(mean)
    if rank == 0:
        print(f"mean loss {mean.item() / dist.get_world_size():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
