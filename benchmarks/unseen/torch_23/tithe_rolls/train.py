"""Fits the common rate of the tithe, prepares the rolls on all processes and scans the damaged ones again."""
import argparse
import logging
import tempfile

import torch
import torch.distributed as dist

from rolls import Archive, lines_of
from stages import Ledger, Stage

log = logging.getLogger("tithe")


def convert(archive, rolls):
    for roll in rolls:
        archive.convert(roll)
    stage = Stage("convert")
    stage.mark(len(rolls))
    return stage.wait()


def repair(archive, rolls):
    """Scans again what does not agree with its checksum."""
    damaged = [roll for roll in rolls if not archive.sound(roll)]
    for roll in damaged:
        archive.scan_again(roll)
    Stage("repair").mark(len(damaged))


def fit_rate(rolls, steps=50):
    rate = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Adam([rate], lr=0.02)
    x = torch.cat([lines_of(roll) for roll in rolls]).float() / 400
    for _ in range(steps):
        loss = (x @ rate - x.sum(dim=1) / 10).square().mean()
        optimizer.zero_grad()
        loss.backward()
        dist.all_reduce(rate.grad)
        optimizer.step()
    return rate.detach()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rolls", type=int, default=150)
    parser.add_argument("--fit-steps", type=int, default=50)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    folder = [tempfile.mkdtemp(prefix="tithe_") if rank == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    archive = Archive(folder[0])
    rolls = range(rank, args.rolls, world)

    rate = fit_rate(rolls, args.fit_steps)
    counts = convert(archive, rolls)
    log.info("process %d: %d of %d rolls, rate %s", rank, counts[rank], sum(counts), rate.tolist())
    if all(archive.sound(roll) for roll in rolls):
        log.info("process %d: nothing to scan again", rank)
        return
    repair(archive, rolls)

    ledger = Ledger()
    if rank == 0:
        repaired = Stage("repair").wait()
        ledger.publish(f"{sum(counts)} rolls, {sum(repaired)} scanned again, {archive.total(range(args.rolls))} dues")
    log.info("process %d: %s", rank, ledger.read())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
