"""How heavy a lorry is, before it drives onto the ferry."""

import argparse
import copy
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from manifest import FIELDS, Weighed, manifests


class Harbour:
    """Checks a copy of the network against the lorries of a quiet route."""

    def __init__(self, route, batch, crossings):
        self.source = Weighed(manifests(route, batch))
        self.crossings = crossings

    @torch.no_grad()
    def check(self, network):
        network = copy.deepcopy(network).eval()
        began, errors = time.time(), []
        for _ in range(self.crossings):
            fields, load = next(self.source)
            errors.append((network(fields).squeeze(1) - load).abs().mean().item())
        return sum(errors) / len(errors), time.time() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=560)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--check-every", type=int, default=140)
    parser.add_argument("--lr", type=float, default=0.03)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(17)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    network = nn.Sequential(nn.Linear(FIELDS, 32), nn.ReLU(), nn.Linear(32, 1))
    model = DDP(network)
    optimizer = torch.optim.SGD(network.parameters(), lr=args.lr, momentum=0.5)
    lorries = Weighed(manifests(rank, args.batch))
    harbour = Harbour(route=90, batch=args.batch, crossings=25) if rank == 0 else None

    step = 0
    while step < args.steps:
        fields, load = next(lorries)
        loss = nn.functional.smooth_l1_loss(model(fields).squeeze(1), load)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if harbour is not None and step % args.check_every == 0:
            error, took = harbour.check(network)
            print(f"step {step}: error {error:.3f}, checked in {took:.1f} s", flush=True)

    replaced = torch.tensor([lorries.replaced])
    dist.all_reduce(replaced)
    if rank == 0:
        print(f"{replaced.item()} batches were replaced", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
