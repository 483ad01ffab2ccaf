"""Depth from stereo slides with a pipeline of three stages, one to a process."""

import argparse
import logging

import torch
import torch.distributed as dist

from slides import Cabinet
from stages import StageRunner, share

log = logging.getLogger("slides")

FOGGED = [(1, 22)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawers", type=int, default=6)
    parser.add_argument("--batches", type=int, default=60, help="in a drawer")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--microbatches", type=int, default=4)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--enough", type=float, default=1e-4)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, stages = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    torch.manual_seed(rank)
    cabinet = Cabinet(args.drawers, args.batches, args.batch, FOGGED)
    runner = StageRunner(rank, stages, args.width, args.microbatches, args.lr)
    for drawer in range(args.drawers):
        mine = runner.run(cabinet, drawer)
        loss = share(mine, source=stages - 1)
        log.info("drawer %d: %.4f", drawer, loss)
        if loss < args.enough:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
