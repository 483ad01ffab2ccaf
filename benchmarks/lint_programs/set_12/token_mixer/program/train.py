import argparse
import os

import torch
import torch.distributed as dist
from torch.nn import functional as F

from feed import Feed
from layout import Layout
from model import Mixer


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--tp", type=int, default=2)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--samples", type=int, default=512)
    p.add_argument("--length", type=int, default=12)
    p.add_argument("--vocab", type=int, default=32)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--depth", type=int, default=2)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=9)
    p.add_argument("--out", default="runs/mixer")
    return p.parse_args()


def main():
    args = parse()
    dist.init_process_group("gloo")
    layout = Layout(args.tp)
    torch.manual_seed(args.seed)
    model = Mixer(args.vocab, args.width, args.hidden, args.depth, layout, args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    feed = Feed(args, layout)

    for epoch in range(args.epochs):
        total = torch.zeros(2, dtype=torch.float64)
        for inputs, targets in feed.epoch(epoch):
            logits = model(inputs)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            layout.average_gradients(model.parameters())
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0], dtype=torch.float64)
        dist.all_reduce(total, group=layout.dp_group)
        if layout.rank == 0:
            print(f"epoch {epoch}: loss {(total[0] / total[1]).item():.4f}", flush=True)

    if layout.dp_rank == 0:
        os.makedirs(args.out, exist_ok=True)
        torch.save(model.state_dict(), os.path.join(args.out, f"shard{layout.tp_rank}.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
