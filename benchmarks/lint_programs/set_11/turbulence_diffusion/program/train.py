"""Diffusion model of 2-D turbulence. The queue kills jobs after a day, so it goes on by itself:

    torchrun --nproc-per-node 4 train.py --epochs 400 --ckpt run1/last.pt
"""
import argparse
import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import checkpoint
from diffusion import Denoiser, Schedule, vorticity


class Fields(Dataset):
    def __init__(self, n=128):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return vorticity(i)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--ema", type=float, default=0.99)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--ckpt", default="last.pt")
    return p.parse_args()


@torch.no_grad()
def update_ema(ema, net, decay):
    for e, p in zip(ema.parameters(), net.parameters()):
        e.lerp_(p, 1 - decay)


def main():
    args = parse()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    torch.manual_seed(args.seed)
    model = DDP(Denoiser().to(device), device_ids=[local_rank] if cuda else None)
    ema = copy.deepcopy(model.module).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = Schedule(100, device)
    torch.manual_seed(args.seed + 1000 * (rank + 1))

    data = Fields()
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)

    if rank == 0 and os.path.dirname(args.ckpt):
        os.makedirs(os.path.dirname(args.ckpt), exist_ok=True)
    found = [os.path.exists(args.ckpt)]
    dist.broadcast_object_list(found, src=0)
    start = checkpoint.load(args.ckpt, model, ema, opt) if found[0] else 0

    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        meter = torch.zeros(2, device=device)
        for x in loader:
            noisy, t, noise = schedule.noised(x.to(device))
            loss = F.mse_loss(model(noisy, t), noise)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            update_ema(ema, model.module, args.ema)
            meter += torch.stack([loss.detach(), torch.ones_like(loss.detach())])
        dist.all_reduce(meter)
        if rank == 0:
            print(f"epoch {epoch} loss {(meter[0] / meter[1]).item():.4f}", flush=True)
        checkpoint.save(args.ckpt, model, ema, opt, epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
