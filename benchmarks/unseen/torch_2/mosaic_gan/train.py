"""GAN for Roman mosaic tiles: generator and critic, each wrapped in DDP."""
import time
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from gallery import Gallery

hp = SimpleNamespace(steps=70, batch=8, z=8, side=8, sheet_every=15, sheet_rank=1, lr=2e-4)


def generator():
    return nn.Sequential(nn.Linear(hp.z, 64), nn.LeakyReLU(0.2), nn.Linear(64, hp.side ** 2), nn.Tanh())


def critic():
    return nn.Sequential(nn.Linear(hp.side ** 2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))


def tiles(n):
    stripes = torch.sign(torch.sin(torch.arange(hp.side) * torch.rand(n, 1) * 3))
    return (stripes[:, :, None] * stripes[:, None, :]).flatten(1)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    G, D = DDP(generator()), DDP(critic())
    opt_g = torch.optim.Adam(G.parameters(), lr=hp.lr, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(D.parameters(), lr=hp.lr, betas=(0.5, 0.99))
    gallery = Gallery(enabled=rank == hp.sheet_rank)
    bce = nn.functional.binary_cross_entropy_with_logits

    for step in range(hp.steps):
        real = tiles(hp.batch)
        with torch.no_grad():
            fake = G.module(torch.randn(hp.batch, hp.z))
        score = D(torch.cat([real, fake]))
        truth = torch.cat([torch.ones(hp.batch, 1), torch.zeros(hp.batch, 1)])
        opt_d.zero_grad()
        d_loss = bce(score, truth)
        d_loss.backward()
        opt_d.step()

        painted = G(torch.randn(hp.batch, hp.z))
        opt_g.zero_grad()
        g_loss = bce(D.module(painted), torch.ones(hp.batch, 1))
        g_loss.backward()
        opt_g.step()

        if step % hp.sheet_every == 0:
            gallery.pin(f"sheet{step:04d}", painted)
            if rank == 0:
                print(f"{step:3d} d {d_loss.item():.3f} g {g_loss.item():.3f}", flush=True)
        time.sleep(0.04)

    gallery.flush()
    dist.barrier()
    dist.destroy_process_group()
    if rank == hp.sheet_rank:
        print("sheets in", gallery.folder, flush=True)


if __name__ == "__main__":
    main()
