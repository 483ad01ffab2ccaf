"""Contrastive pre-training on pairs of clips of the same bird."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from contrast import InfoNCE

# recordings per field station after quality control
RECORDINGS = (240, 235, 240)


class Clips(Dataset):
    def __init__(self, station, count):
        g = torch.Generator().manual_seed(station)
        self.base = torch.randn(count, 40, generator=g)

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        bird = self.base[i]
        return bird + 0.1 * torch.randn(40), bird + 0.1 * torch.randn(40)


def encoder():
    return nn.Sequential(nn.Linear(40, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 16))


def main(opts):
    dist.init_process_group("gloo")
    station = dist.get_rank()
    torch.manual_seed(3)
    net = DistributedDataParallel(encoder())
    torch.manual_seed(1000 + station)
    loader = DataLoader(Clips(station, RECORDINGS[station]), batch_size=opts.batch, shuffle=True)
    criterion = InfoNCE()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    for epoch in range(opts.epochs):
        for it, (a, b) in enumerate(loader):
            both = net(torch.cat([a, b]))
            loss = criterion(*both.chunk(2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.02)
        if station == 0:
            print(f"epoch {epoch} nce {loss.item():.3f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    torch.set_num_threads(1)
    main(parser.parse_args())
