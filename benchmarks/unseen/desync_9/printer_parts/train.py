"""Warping of printed parts; every process reads the log of one printer."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from model import Average, Warping
from parts import part_loader

log = logging.getLogger("parts")


def epoch(model, average, optimizer, loader):
    error = 0.0
    for layers, warping in loader:
        loss = nn.functional.mse_loss(model(layers), warping)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        average.update(model.module)
        error = average.error(layers, warping)
    return error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--parts", type=int, default=960)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(Warping())
    average = Average(model.module)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = part_loader(rank, args.parts, args.batch_size)
    for number in range(args.epochs):
        error = epoch(model, average, optimizer, loader)
        if rank == 0:
            log.info("epoch %d: error %.4f", number, error)
    dist.barrier()
    log.info("printer %d is done", rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
