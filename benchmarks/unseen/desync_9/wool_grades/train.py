"""Grades of wool from the profiles of its fibres."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from accumulate import SegmentBudget
from bales import Bales, Grader

log = logging.getLogger("wool")


def run(args):
    rank = dist.get_rank()
    torch.manual_seed(12)
    model = DDP(Grader())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    budget = SegmentBudget(model, optimizer, args.segments)
    loader = DataLoader(Bales(rank, args.bales), batch_size=None)
    criterion = nn.CrossEntropyLoss()
    smooth = None
    for number, (fibres, grades) in enumerate(loader):
        with budget.micro_batch(fibres):
            loss = criterion(model(fibres), grades)
            loss.backward()
        smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
        if rank == 0 and number % 200 == 0:
            log.info("bale %d: %d steps, loss %.3f", number, budget.steps, smooth)
    return budget.steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bales", type=int, default=1840)
    parser.add_argument("--segments", type=int, default=240, help="segments in an optimizer step")
    parser.add_argument("--lr", type=float, default=0.03)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    steps = run(args)
    dist.barrier()
    log.info("%d steps", steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
