"""Sorts parcels of two belts into chutes."""

import argparse
import logging

import torch
import torch.distributed as dist

from belts import Belt
from sorter import Sorter

log = logging.getLogger("parcels")


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--length", type=int, default=600)
    parser.add_argument("--period", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.02)
    return parser.parse_args()


def sort(belt, sorter):
    loss = None
    for pictures, chute, exposure in belt:
        value = sorter.learn(pictures, chute, exposure)
        loss = value if loss is None else 0.97 * loss + 0.03 * value
        if sorter.batches % 100 == 0:
            log.info("belt %d, batch %d: %.4f", belt.number, sorter.batches, loss)
    return loss


def main():
    args = options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(5)
    dist.init_process_group("gloo")
    belt = Belt(dist.get_rank(), args.length)
    sorter = Sorter(args.period, args.lr)
    loss = sort(belt, sorter)
    dist.barrier()
    log.info("belt %d ends with %.4f", belt.number, loss)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
