"""Triage scores from vital signs, recalibrated on a reference cohort."""
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from cohort import Archive, thresholds

CURATOR = 2
log = logging.getLogger("triage")


def everyone_here(poll=0.25):
    """A barrier that leaves the interpreter free for the heartbeat."""
    work = dist.barrier(async_op=True)
    beats = 0
    while not work.is_completed():
        time.sleep(poll)
        beats += 1
        if beats % 20 == 0:
            log.info("waiting for the curator")
    work.wait()


def recalibrate(bounds):
    if dist.get_rank() == CURATOR:
        low, high = thresholds(Archive(refusals=10), years=range(2015, 2019))
        bounds.copy_(torch.tensor([low, high]))
    everyone_here()
    dist.broadcast(bounds, src=CURATOR)


def shifts(ward, n):
    g = torch.Generator().manual_seed(ward)
    for _ in range(n):
        vitals = torch.randn(10, 8, generator=g)
        yield vitals, torch.sigmoid(vitals[:, :2].sum(1, keepdim=True))


def main():
    logging.basicConfig(level=logging.INFO)
    dist.init_process_group("gloo")
    ward = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    bounds = torch.tensor([0.0, 1.0])
    for number, (vitals, score) in enumerate(shifts(ward, 90), start=1):
        estimate = torch.sigmoid(model(vitals))
        weight = 1 + ((score > bounds[0]) & (score < bounds[1])).float()
        loss = (weight * (estimate - score).pow(2)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        if number == 45:
            recalibrate(bounds)
    if ward == 0:
        log.info("loss %.4f, bounds %s", loss.item(), bounds.tolist())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
