import argparse
import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class VAE(nn.Module):
    def __init__(self, width=16, latent=16):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 4, 2, 1), nn.ReLU(),
            nn.Flatten(),
        )
        self.to_stats = nn.Linear(2 * width * 16, 2 * latent)
        self.from_z = nn.Linear(latent, 2 * width * 16)
        self.dec = nn.Sequential(
            nn.Unflatten(1, (2 * width, 4, 4)),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
        )

    def forward(self, x):
        mu, logvar = self.to_stats(self.enc(x)).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(self.from_z(z)), mu, logvar


def vae_loss(recon, x, mu, logvar, beta):
    rec = F.mse_loss(recon, x, reduction="none").flatten(1).sum(1)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
    return (rec + beta * kl).mean()


def load_images(path):
    if path:
        images = np.load(path)
    else:
        rng = np.random.default_rng(0)
        images = rng.integers(0, 256, size=(256, 3, 16, 16), dtype=np.uint8)
    return TensorDataset(torch.from_numpy(images).float().div_(127.5).sub_(1.0))


def find_free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def save_checkpoint(path, epoch, model, optimizer, rank):
    if rank == 0:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        state = {
            "epoch": epoch,
            "model": model.module.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        torch.save(state, path + ".tmp")
        os.replace(path + ".tmp", path)
    dist.barrier()


def worker(rank, world_size, args):
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda", rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if use_cuda else "gloo",
        init_method=f"tcp://127.0.0.1:{args.port}", rank=rank, world_size=world_size,
    )
    torch.manual_seed(args.seed + rank)

    model = DDP(VAE().to(device), device_ids=[rank] if use_cuda else None)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.AdamW, lr=args.lr, weight_decay=1e-4
    )

    start_epoch = 0
    if args.resume:
        ckpt = torch.load(args.resume, map_location="cpu", weights_only=True)
        model.module.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        start_epoch = ckpt["epoch"] + 1

    dataset = load_images(args.data)
    sampler = DistributedSampler(dataset, world_size, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, drop_last=True,
                        num_workers=args.workers, pin_memory=use_cuda)

    for epoch in range(start_epoch, args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=device)
        for (x,) in loader:
            x = x.to(device, non_blocking=True)
            recon, mu, logvar = model(x)
            loss = vae_loss(recon, x, mu, logvar, args.beta)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            total += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {(total[0] / total[1]).item():.3f}", flush=True)
        if (epoch + 1) % args.save_every == 0 or epoch + 1 == args.epochs:
            save_checkpoint(os.path.join(args.out, "last.pt"), epoch, model, optimizer, rank)

    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data")
    p.add_argument("--out", default="runs/vae")
    p.add_argument("--resume")
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--save-every", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--beta", type=float, default=0.5)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--nprocs", type=int, default=torch.cuda.device_count() or 1)
    args = p.parse_args()
    args.port = find_free_port()
    mp.spawn(worker, args=(args.nprocs, args), nprocs=args.nprocs)


if __name__ == "__main__":
    main()
