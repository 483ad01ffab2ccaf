"""Supervised contrastive pre-training on audio clips (log-mel patches), no DDP."""
import argparse
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from gathering import gather_embeddings, gather_labels
from losses import supervised_contrastive

MELS, FRAMES, CLASSES = 16, 20, 5


class Clips:
    """Clips of one recording site, in the order of recording."""

    def __init__(self, site, n_batches, size):
        self.site, self.n_batches, self.size = site, n_batches, size
        # annotation is still under way for one session of site 2
        self.pending = range(27 * size, 29 * size) if site == 2 else range(0)

    def __iter__(self):
        g = torch.Generator().manual_seed(400 + self.site)
        for b in range(self.n_batches):
            y = torch.randint(0, CLASSES, (self.size,), generator=g)
            x = torch.randn(self.size, 1, MELS, FRAMES, generator=g) + y[:, None, None, None] * 0.3
            for j in range(self.size):
                if b * self.size + j in self.pending:
                    y[j] = -1
            yield x, y


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, stride=2)
        self.head = nn.Linear(6 * 7 * 9, dim)

    def forward(self, x):
        return F.normalize(self.head(F.relu(self.conv(x)).flatten(1)), dim=1)


def average_(params):
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for p in params:
        p.grad.copy_(flat[at:at + p.numel()].view_as(p))
        at += p.numel()


def run(opts):
    rank = dist.get_rank()
    torch.manual_seed(1)
    encoder = Encoder()
    params = list(encoder.parameters())
    optim = torch.optim.AdamW(params, lr=opts.lr)
    own = torch.arange(opts.batch) + rank * opts.batch
    for i, (x, y) in enumerate(Clips(rank, opts.batches, opts.batch)):
        z = encoder(x)
        bank, bank_y = gather_embeddings(z), gather_labels(y)
        loss = supervised_contrastive(z, y, bank, bank_y, own)
        optim.zero_grad()
        loss.backward()
        average_(params)
        optim.step()
        time.sleep(0.02)
        if rank == 0 and i % 10 == 0:
            print(f"{i:4d} supcon {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--batches", type=int, default=60)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--lr", type=float, default=1e-3)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    run(ap.parse_args())
    dist.destroy_process_group()
