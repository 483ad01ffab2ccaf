"""Dose of a treatment from the plan's parameters; each rank reads one clinic."""

import argparse
import itertools
import logging
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from feed import RecordFeed

log = logging.getLogger("dose")
CLINICS = ("Aarhus", "Basel", "Coimbra")


def export(clinic):
    """The lines of a clinic's export. One clinic changed its planning software."""
    rng = random.Random(clinic)
    for number in itertools.count():
        plan = [rng.gauss(0, 1) for _ in range(6)]
        dose = 2.0 + 0.4 * plan[0] - 0.3 * plan[2] + rng.gauss(0, 0.05)
        numbers = ";".join(f"{value:.4f}" for value in plan)
        if clinic == "Coimbra" and number >= 1000:
            yield f"{numbers};{dose * 100:.1f};cgy"
        else:
            yield f"{numbers};{dose:.3f};Gy"


class RunningLoss:
    def __init__(self, momentum=0.95):
        self.momentum, self.value = momentum, None

    def update(self, loss):
        self.value = loss if self.value is None else self.momentum * self.value + (1 - self.momentum) * loss
        return self.value


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--log-every", type=int, default=25)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr * 5, total_steps=args.steps)
    running = RunningLoss()
    feed = RecordFeed(export(CLINICS[rank]), args.batch_size)
    for step, (x, y) in enumerate(itertools.islice(feed, args.steps)):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        running.update(loss.item())
        if rank == 0 and step % args.log_every == 0:
            log.info("step %d loss %.4f", step, running.value)
        time.sleep(0.02)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
