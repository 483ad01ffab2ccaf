import argparse
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from mixture import Mixture
from model import MultiTaskReader


def report(step, losses):
    """Gathers what every rank trained on, for the mixture plot."""
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, {k: round(v.item(), 3) for k, v in losses.items()})
    if dist.get_rank() == 0 and step % 5 == 0:
        print(step, rows, flush=True)


def main(args):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    mixture = Mixture(rank, world, args.batch_size)
    model = DistributedDataParallel(MultiTaskReader())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        losses = model(mixture.batch())
        optimizer.zero_grad()
        sum(losses.values()).backward()
        optimizer.step()
        report(step, losses)
        time.sleep(0.03)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=8)
    main(parser.parse_args())
