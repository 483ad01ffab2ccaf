"""DCGAN on synthetic 16x16 sprites."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Sprites(Dataset):
    def __init__(self, n=256):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        img = torch.full((1, 16, 16), -1.0)
        r, c = torch.randint(0, 10, (2,), generator=g).tolist()
        img[:, r:r + 6, c:c + 6] = 1.0
        return img + 0.05 * torch.randn(img.shape, generator=g)


class Generator(nn.Module):
    def __init__(self, nz, ch):
        super().__init__()
        self.nz = nz
        self.net = nn.Sequential(
            nn.ConvTranspose2d(nz, ch * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ch * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ch * 2, ch, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ch), nn.ReLU(True),
            nn.ConvTranspose2d(ch, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.net(z[:, :, None, None])

    @torch.no_grad()
    def sample(self, n, device):
        """Images for a look, with the running statistics."""
        self.eval()
        images = self(torch.randn(n, self.nz, device=device))
        self.train()
        return images


class Discriminator(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, ch, 4, 2, 1), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ch, ch * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ch * 2), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ch * 2, 1, 4, 1, 0))

    def forward(self, x):
        return self.net(x).flatten()


def bce(logits, target):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--nz", type=int, default=16)
    ap.add_argument("--ch", type=int, default=8)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--out", default="generator.pt")
    ap.add_argument("--samples", default="samples")
    args = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")

    torch.manual_seed(0)
    ids = [local_rank] if cuda else None
    net_g = DDP(Generator(args.nz, args.ch).to(device), device_ids=ids)
    net_d = DDP(Discriminator(args.ch).to(device), device_ids=ids, broadcast_buffers=False)
    opt_g = torch.optim.Adam(net_g.parameters(), lr=args.lr, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(net_d.parameters(), lr=args.lr, betas=(0.5, 0.999))

    ds = Sprites()
    sampler = DistributedSampler(ds, shuffle=True, drop_last=True)
    loader = DataLoader(ds, args.batch_size, sampler=sampler, drop_last=True)
    torch.manual_seed(100 + rank)  # noise differs between ranks

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        stats = torch.zeros(3, device=device)
        for real in loader:
            real = real.to(device)
            z = torch.randn(len(real), args.nz, device=device)

            with torch.no_grad():
                fake = net_g(z)
            opt_d.zero_grad()
            loss_d = bce(net_d(real), 0.9) + bce(net_d(fake), 0.0)
            loss_d.backward()
            opt_d.step()

            # only the generator's gradients are wanted here
            opt_g.zero_grad()
            loss_g = bce(net_d.module(net_g(z)), 1.0)
            loss_g.backward()
            opt_g.step()
            stats += torch.stack([loss_d.detach(), loss_g.detach(), torch.ones((), device=device)])
        dist.all_reduce(stats)
        if rank == 0:
            print(f"epoch {epoch} D {stats[0] / stats[2]:.3f} G {stats[1] / stats[2]:.3f}", flush=True)
            torch.save(net_g.sample(16, device).cpu(), f"{args.samples}_{epoch}.pt")

    if rank == 0:
        torch.save(net_g.module.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
