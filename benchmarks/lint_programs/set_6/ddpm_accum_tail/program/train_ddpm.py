import argparse
import contextlib
import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from unet import SmallUNet

T = 200


def synthetic_images(count, size=16):
    g = torch.Generator().manual_seed(0)
    grid = torch.linspace(-1, 1, size)
    centre = torch.rand(count, 2, generator=g) - 0.5
    radius = 0.2 + 0.3 * torch.rand(count, 1, 1, generator=g)
    d = ((grid[None, :, None] - centre[:, :1, None]) ** 2 + (grid[None, None, :] - centre[:, 1:, None]) ** 2).sqrt()
    return ((radius - d) * 8).tanh()[:, None]


def diffusion_loss(model, x, alphas_bar):
    t = torch.randint(0, T, (x.size(0),), device=x.device)
    noise = torch.randn_like(x)
    a = alphas_bar[t][:, None, None, None]
    return F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)


def train_epoch(model, ema, loader, optimizer, alphas_bar, args, device):
    total = torch.zeros(2, device=device)
    batches = len(loader)
    for i, (x,) in enumerate(loader):
        window = min(args.accumulate, batches - i // args.accumulate * args.accumulate)
        full = (i + 1) % args.accumulate == 0
        with contextlib.nullcontext() if full else model.no_sync():
            loss = diffusion_loss(model, x.to(device), alphas_bar)
            (loss / window).backward()
        total += torch.stack([loss.detach(), torch.ones((), device=device)])
        if full or i + 1 == batches:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            with torch.no_grad():
                for e, p in zip(ema.parameters(), model.module.parameters()):
                    e.lerp_(p, 1 - args.ema)
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


@torch.no_grad()
def sample(net, count, betas, alphas_bar, device, size=16):
    x = torch.randn(count, 1, size, size, device=device)
    for t in reversed(range(T)):
        eps = net(x, torch.full((count,), t, device=device))
        x = (x - betas[t] / (1 - alphas_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t:
            x = x + betas[t].sqrt() * torch.randn_like(x)
    return x


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--images", type=int, default=5000)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--accumulate", type=int, default=4)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--ema", type=float, default=0.999)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="ddpm.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()

    torch.manual_seed(args.seed)
    net = SmallUNet().to(device)
    ema = copy.deepcopy(net).requires_grad_(False)
    model = DDP(net, device_ids=[local_rank] if cuda else None)
    torch.manual_seed(args.seed + 1 + rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    betas = torch.linspace(1e-4, 0.05, T, device=device)
    alphas_bar = torch.cumprod(1 - betas, dim=0)

    dataset = TensorDataset(synthetic_images(args.images))
    sampler = DistributedSampler(dataset, seed=args.seed)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, ema, loader, optimizer, alphas_bar, args, device)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)
            if (epoch + 1) % 10 == 0 or epoch + 1 == args.epochs:
                images = sample(ema, 8, betas, alphas_bar, device)
                torch.save({"net": net.state_dict(), "ema": ema.state_dict(), "samples": images.cpu()}, args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
