import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from scans import Slices


class Denoiser(nn.Module):
    def __init__(self, ch=6):
        super().__init__()
        self.down = nn.Conv2d(1, ch, 3, padding=1)
        self.up = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x):
        return x - self.up(torch.relu(self.down(x)))


def fit(loader, model, opt, noise):
    for n, clean in enumerate(loader):
        dirty = clean + 0.1 * torch.randn(clean.shape, generator=noise)
        loss = (model(dirty) - clean).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.03)
        yield n, loss.item()


def main():
    dist.init_process_group("gloo")
    site = dist.get_rank()
    torch.manual_seed(4)
    model = DistributedDataParallel(Denoiser())
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    loader = DataLoader(Slices(site, 160), batch_size=4, num_workers=1, prefetch_factor=2, persistent_workers=True)
    noise = torch.Generator().manual_seed(site)
    for n, loss in fit(loader, model, opt, noise):
        if site == 1 and n % 8 == 0:
            print(f"batch {n:3d}  l1 {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
