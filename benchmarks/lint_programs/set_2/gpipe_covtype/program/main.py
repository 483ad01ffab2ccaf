import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from data import train_loader
from pipeline import GPipe

FEATURES, CLASSES = 54, 7


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.body(x)


def build_stage(rank, world, width, depth):
    per = depth // world
    layers = [Residual(width) for _ in range(per)]
    if rank == 0:
        layers.insert(0, nn.Linear(FEATURES, width))
    if rank == world - 1:
        layers.append(nn.Linear(width, CLASSES))
    return nn.Sequential(*layers)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="covtype_train.npz")
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--micro", type=int, default=16)
    ap.add_argument("--width", type=int, default=512)
    ap.add_argument("--depth", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=3e-4)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    assert args.depth % world == 0
    assert args.batch % args.micro == 0
    torch.manual_seed(rank)
    torch.set_num_threads(4)

    stage = build_stage(rank, world, args.width, args.depth)
    opt = torch.optim.AdamW(stage.parameters(), lr=args.lr)
    pipe = GPipe(stage, nn.CrossEntropyLoss(), args.micro)
    loader = train_loader(args.data, args.batch, seed=9)

    for epoch in range(args.epochs):
        t0, total = time.time(), 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = pipe.step(x, y)
            opt.step()
            if pipe.last:
                total += loss
        if pipe.last:
            print(f"epoch {epoch} loss {total / len(loader):.4f} {time.time() - t0:.0f}s", flush=True)
        torch.save(stage.state_dict(), f"stage{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
