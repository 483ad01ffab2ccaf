import argparse
import time

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from network import Grader
from validation import HoldOut, validate


def fundus_images(rank, batch=6):
    gen = torch.Generator().manual_seed(10 + rank)
    while True:
        grades = torch.randint(0, 5, (batch,), generator=gen)
        yield torch.rand(batch, 3, 16, 16, generator=gen) + 0.1 * grades[:, None, None, None], grades


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--validate-every", type=int, default=15)
    parser.add_argument("--holdout-node", type=int, default=1)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(4)
    network = DistributedDataParallel(Grader())
    optim = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    holdout = HoldOut(args.holdout_node)
    stream = fundus_images(rank)
    for step in range(1, args.steps + 1):
        images, grades = next(stream)
        loss = F.cross_entropy(network(images), grades)
        optim.zero_grad()
        loss.backward()
        optim.step()
        time.sleep(0.02)
        if step % args.validate_every == 0:
            kappa = validate(network, holdout)
            if rank == 0:
                print(f"step {step}: loss {loss.item():.3f} kappa {kappa:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
