import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from corpus import BucketReader, shards_for

parser = argparse.ArgumentParser(description="keyword classifier")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--shards", type=int, default=6)
parser.add_argument("--longest", type=float, default=20.0, help="seconds")


def train_epoch(model, optim, reader):
    loss_fn = nn.CrossEntropyLoss()
    seen = correct = 0
    for frames, labels in reader:
        optim.zero_grad()
        logits = model(frames)
        loss_fn(logits, labels).backward()
        optim.step()
        seen += len(labels)
        correct += int((logits.argmax(1) == labels).sum())
        time.sleep(0.02)
    return seen, correct


def totals(seen, correct):
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, (seen, correct))
    return sum(r[0] for r in rows), sum(r[1] for r in rows)


def main():
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(11)
    model = DDP(nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 6)))
    optim = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    reader = BucketReader(shards_for(rank, world, args.shards), args.batch, args.longest)
    for epoch in range(args.epochs):
        seen, correct = totals(*train_epoch(model, optim, reader))
        if rank == 0:
            print(f"epoch {epoch}: {seen} utterances, accuracy {correct / seen:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
