"""The power that a passenger costs on each escalator, by gradient descent over all stations of a line."""

import argparse
import logging
import sys

import torch
import torch.distributed as dist

from meters import LOADS, Meter
from tables import average, report


class LinearModel:
    """Weights for the escalators, with a running estimate of the loads to scale the steps."""

    def __init__(self, lr):
        self.weights = torch.ones(LOADS)
        self.surge_share = torch.zeros(LOADS)
        self.load = torch.full((LOADS,), 0.5)
        self.lr = lr

    def update(self, tables):
        self.load.lerp_(tables["load"], 0.05)
        self.weights -= self.lr * tables["gradient"].clamp(-1, 1) / self.load.clamp(min=0.1)
        if "surge" in tables:
            self.surge_share.lerp_(tables["surge"], 0.02)


def run(model, meter, minutes, log_every):
    log = logging.getLogger("escalators")
    smooth = None
    for minute in range(minutes):
        people, current, surge = meter.read(minute)
        tables, squared = report(people, current, surge, model.weights)
        model.update(average(tables))
        smooth = squared if smooth is None else 0.95 * smooth + 0.05 * squared
        if meter.station == 0 and minute % log_every == 0:
            log.info("minute %d: squared error %.3f", minute, smooth)
    return smooth


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=640)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--log-every", type=int, default=80)
    args = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    try:
        meter = Meter(dist.get_rank())
        smooth = run(LinearModel(args.lr), meter, args.minutes, args.log_every)
        dist.barrier()
        print(f"station {meter.station}: {smooth:.3f}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
