import argparse
import itertools
import os

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dfn
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from pipeline import ShardStream


class Clip(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.img = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, dim))
        self.txt = nn.EmbeddingBag(200, dim)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, img, txt):
        return F.normalize(self.img(img), dim=-1), F.normalize(self.txt(txt), dim=-1), self.scale.exp()


def contrastive(a, b, scale):
    a, b = torch.cat(dfn.all_gather(a)), torch.cat(dfn.all_gather(b))
    logits = scale * a @ b.T
    y = torch.arange(len(a), device=a.device)
    return (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--shards", default="shards/{000000..000063}.tar")
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--epoch-samples", type=int, default=32_000, help="samples per epoch over all processes")
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--trace", action="store_true")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    dev = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(dev)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    model = DDP(Clip().to(dev), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = iter(DataLoader(ShardStream(args.shards), args.batch_size, num_workers=args.workers))
    steps = args.epoch_samples // (args.batch_size * world)

    for epoch in range(args.epochs):
        tot = torch.zeros(2, device=dev)
        for keys, img, txt in itertools.islice(loader, steps):
            if args.trace:
                print(f"[{rank}] {sorted(keys)[:3]}", flush=True)
            loss = contrastive(*model(img.to(dev), txt.to(dev)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(tot)
        if rank == 0:
            print(f"epoch {epoch} loss {(tot[0] / tot[1]).item():.4f}", flush=True)
            torch.save(model.module.state_dict(), "clip.pt")

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
