"""Morphology of galaxies from WebDataset shards."""
import argparse
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

import shards


def classifier():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 25, shards.KINDS)
    )


def epoch_accuracy(right, seen):
    counts = [torch.zeros(2) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor([float(right), float(seen)]))
    total = torch.stack(counts).sum(0)
    return (total[0] / total[1]).item()


def run(args):
    rank = dist.get_rank()
    folder = os.path.join(tempfile.gettempdir(), f"galaxies_{os.environ['MASTER_PORT']}_{os.getppid()}")
    if rank == 0:
        shards.write(folder, args.shards)
    dist.barrier()

    torch.manual_seed(0)
    model = DDP(classifier())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(args.epochs):
        right = seen = 0
        for image, kind in shards.read(folder, args.shards, args.batch):
            image, kind = torch.as_tensor(image), torch.as_tensor(kind)
            scores = model(image)
            loss = nn.functional.cross_entropy(scores, kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (scores.argmax(1) == kind).sum().item()
            seen += len(kind)
            time.sleep(0.02)
        accuracy = epoch_accuracy(right, seen)
        if rank == 0:
            print(f"epoch {epoch}: {accuracy:.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    dist.init_process_group("gloo")
    run(parser.parse_args())
    dist.destroy_process_group()
