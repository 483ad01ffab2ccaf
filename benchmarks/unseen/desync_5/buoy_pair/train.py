"""Forecasts of two quantities of the sea, from the same buoys; a model for each, trained side by side."""

import argparse

import torch
import torch.distributed as dist

from forecaster import Archive, Forecaster

QUANTITIES = ("temperature", "salinity")
PACKED = {("temperature", 1): 260}


def build(args, quantity):
    rank = dist.get_rank()
    archive = Archive(quantity, PACKED.get((quantity, rank)), seed=100 * rank + len(quantity))
    torch.manual_seed(len(quantity))
    return Forecaster(archive, args.weeks, args.width)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weeks", type=int, default=700)
    parser.add_argument("--width", type=int, default=32)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    forecasters = [build(args, quantity) for quantity in QUANTITIES]
    for forecaster in forecasters:
        forecaster.start()
    for forecaster in forecasters:
        forecaster.join()
    dist.barrier()
    if dist.get_rank() == 0:
        for forecaster in forecasters:
            print(f"{forecaster.name}: {forecaster.loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
