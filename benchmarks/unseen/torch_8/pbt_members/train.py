"""Population based training: every rank trains its own member, the best one is copied now and then."""
import argparse
import logging
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn

from population import Population

log = logging.getLogger("pbt")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=16)
    p.add_argument("--inner-steps", type=int, default=4)
    p.add_argument("--exploit-at", type=int, nargs="*", default=[10])
    p.add_argument("--lrs", type=float, nargs="*", default=[0.002, 0.08, 0.004, 0.003])
    return p.parse_args()


def inner_loop(model, opt, gen, steps, truth):
    last = 0.0
    for _ in range(steps):
        x = torch.randn(16, 8, generator=gen)
        loss = nn.functional.mse_loss(model(x), x @ truth)
        opt.zero_grad()
        loss.backward()
        opt.step()
        last = loss.item()
        time.sleep(0.02)
    return last


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    truth = torch.randn(8, 1)
    model = nn.Linear(8, 1)
    opt = torch.optim.SGD(model.parameters(), lr=args.lrs[rank])
    gen = torch.Generator().manual_seed(100 + rank)

    root = os.path.join(tempfile.gettempdir(), f"pbt_{os.environ['MASTER_PORT']}")
    population = Population(root, rank, world)

    score = float("inf")
    for rnd in range(1, args.rounds + 1):
        score = inner_loop(model, opt, gen, args.inner_steps, truth)
        dist.barrier()
        if rnd in args.exploit_at:
            leader = population.exploit(model, opt, score)
            log.info("round %d: member %d follows %d (loss %.4f)", rnd, rank, leader, score)

    board = [None] * world
    dist.all_gather_object(board, {"member": rank, "loss": score, "lr": opt.param_groups[0]["lr"]})
    if rank == 0:
        for row in sorted(board, key=lambda r: r["loss"]):
            log.info("%s", row)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
