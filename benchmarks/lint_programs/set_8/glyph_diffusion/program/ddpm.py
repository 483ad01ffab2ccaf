import argparse, copy, os, time
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler

# DDPM on 12x12 glyphs. torchrun --nproc_per_node=2 ddpm.py

T = 100
BETAS = torch.linspace(1e-4, 0.08, T)
ABAR = torch.cumprod(1 - BETAS, 0)


def glyphs(n, seed):
    g = np.random.default_rng(seed)
    out = np.full((n, 1, 12, 12), -1.0, dtype=np.float32)
    for k in range(n):
        r0, c0 = g.integers(1, 6, 2)
        h, w = g.integers(3, 6, 2)
        kind = g.integers(3)
        if kind == 0:
            out[k, 0, r0:r0 + h, c0:c0 + w] = 1
        elif kind == 1:
            out[k, 0, r0:r0 + h, c0] = out[k, 0, r0 + h - 1, c0:c0 + w] = 1
        else:
            for j in range(min(h, w)):
                out[k, 0, r0 + j, c0 + j] = 1
    return torch.from_numpy(out)


class Denoiser(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.temb = nn.Sequential(nn.Embedding(T, ch), nn.Linear(ch, ch), nn.SiLU())
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.mid = nn.ModuleList(nn.Conv2d(ch, ch, 3, padding=1) for _ in range(3))
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.inp(x)
        e = self.temb(t)[:, :, None, None]
        for conv in self.mid:
            h = h + conv(F.silu(F.group_norm(h + e, 4)))
        return self.out(F.silu(h))


class EMA:
    def __init__(self, net, decay):
        self.net = copy.deepcopy(net).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, net):
        for e, p in zip(self.net.parameters(), net.parameters()):
            e.lerp_(p, 1 - self.decay)
        for e, b in zip(self.net.buffers(), net.buffers()):
            e.copy_(b)


def diffusion_loss(net, x, gen=None):
    t = torch.randint(T, (len(x),), generator=gen)
    eps = torch.randn(x.shape, generator=gen)
    a = ABAR[t][:, None, None, None]
    return F.mse_loss(net(a.sqrt() * x + (1 - a).sqrt() * eps, t), eps)


@torch.no_grad()
def validate(net, loader, rank):
    gen = torch.Generator().manual_seed(1000 + rank)
    acc = torch.zeros(2)
    for (x,) in loader:
        acc += torch.tensor([diffusion_loss(net, x, gen).item() * len(x), len(x)])
    dist.all_reduce(acc)
    return (acc[0] / acc[1]).item()


@torch.no_grad()
def sample(net, n):
    x = torch.randn(n, 1, 12, 12)
    for t in reversed(range(T)):
        eps = net(x, torch.full((n,), t))
        x = (x - BETAS[t] / (1 - ABAR[t]).sqrt() * eps) / (1 - BETAS[t]).sqrt()
        if t > 0:
            x = x + BETAS[t].sqrt() * torch.randn_like(x)
    return x.clamp(-1, 1)


def main(args):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed * world + rank)

    net = Denoiser()
    ema = EMA(net, args.ema)
    ddp = DDP(net)
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr)

    train, val = TensorDataset(glyphs(args.n, 0)), TensorDataset(glyphs(512, 1))
    sampler = DistributedSampler(train, world, rank, seed=args.seed)
    train_dl = DataLoader(train, args.bs, sampler=sampler, drop_last=True)
    val_dl = DataLoader(val, 64, sampler=DistributedSampler(val, world, rank, shuffle=False))

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        t0 = time.time()
        for (x,) in train_dl:
            loss = diffusion_loss(ddp, x)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            ema.update(net)
        raw, smooth = validate(net, val_dl, rank), validate(ema.net, val_dl, rank)
        if rank == 0:
            print(f"epoch {epoch} val {raw:.4f} val(ema) {smooth:.4f} {time.time() - t0:.1f}s", flush=True)

    # every rank draws its part of the samples that the FID script reads
    os.makedirs(args.out, exist_ok=True)
    np.save(f"{args.out}/samples_{rank:02d}.npy", sample(ema.net, args.samples // world).numpy())
    if rank == 0:
        torch.save({"net": net.state_dict(), "ema": ema.net.state_dict()}, f"{args.out}/last.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=2048)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--ema", type=float, default=0.995)
    ap.add_argument("--samples", type=int, default=32)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="/tmp/glyph_ddpm")
    main(ap.parse_args())
