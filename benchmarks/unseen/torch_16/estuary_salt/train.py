"""Salinity in the basins of an estuary: a model for each basin, averaged along the channels."""
import argparse
import logging
import time

import torch
import torch.distributed as dist

from basin import Basin, bias, build, fit_day
from channels import Estuary

log = logging.getLogger("estuary")


def spring_tide(day, first, length=4, month=15):
    """Days around new and full moon."""
    return day >= first and (day - first) % month < length


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--first-spring", type=int, default=40)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"[basin {rank}] %(message)s")
    basin, model = Basin(rank), build()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    estuary = Estuary(rank, world)
    for day in range(args.days):
        weather, salt = basin.day(day)
        error = fit_day(model, optimizer, weather, salt, args.steps)
        estuary.tide(spring_tide(day, args.first_spring))
        partners = estuary.share(model)
        if day % 5 == 0:
            log.info("day %d: error %.4f, bias %+.4f, %d channels", day, error, bias(model, weather, salt), partners)
        time.sleep(0.1)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
