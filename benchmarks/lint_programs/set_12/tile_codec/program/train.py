"""torchrun --nproc-per-node 2 train.py"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from model import TileCodec


def tiles(n, size, seed):
    """Map tiles: a coloured ground with one rectangle on it."""
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 3, 1, 1, generator=g).repeat(1, 1, size, size)
    corner = torch.randint(0, size // 2, (n, 2), generator=g)
    colour = torch.rand(n, 3, 1, 1, generator=g)
    for i, (top, left) in enumerate(corner.tolist()):
        x[i, :, top:top + size // 2, left:left + size // 2] = colour[i]
    return TensorDataset(x * 2 - 1)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--tiles", type=int, default=512)
    p.add_argument("--size", type=int, default=16)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--dim", type=int, default=8)
    p.add_argument("--codes", type=int, default=32)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=6)
    p.add_argument("--out", default="runs/codec")
    return p.parse_args()


@torch.no_grad()
def reconstruction(net, loader):
    net.eval()
    total = torch.zeros(2, dtype=torch.float64)
    for (x,) in loader:
        y, _, _ = net(x)
        total += torch.tensor([F.mse_loss(y, x).item() * len(x), len(x)], dtype=torch.float64)
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    args = parse()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)
    data, held = tiles(args.tiles, args.size, 1), tiles(args.tiles // 4, args.size, 2)
    sampler = DistributedSampler(data, seed=args.seed, drop_last=True)
    train = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    val = DataLoader(held, batch_size=args.batch_size, sampler=DistributedSampler(held, shuffle=False))
    model = DDP(TileCodec(args.width, args.dim, args.codes))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, dtype=torch.float64)
        for (x,) in train:
            y, commit, _ = model(x)
            loss = F.mse_loss(y, x) + commit
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0], dtype=torch.float64)
        dist.all_reduce(total)
        mse = reconstruction(model.module, val)
        if rank == 0:
            print(f"epoch {epoch}: loss {(total[0] / total[1]).item():.4f} val mse {mse:.4f}", flush=True)

    if rank == 0:
        os.makedirs(args.out, exist_ok=True)
        torch.save(model.module.state_dict(), os.path.join(args.out, "codec.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
