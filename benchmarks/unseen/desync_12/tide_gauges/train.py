"""Levels of the water in three harbours, with the storms' part learnt from the hours in which there is one."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch.nn.functional import huber_loss, mse_loss

from gauges import Gauge
from models import Forecast

log = logging.getLogger("tide")


def train(forecast, gauge, rank, log_every):
    tide_mean, surge_mean = 0.0, 0.0
    for number, hours in enumerate(gauge):
        tide_loss = mse_loss(forecast.tide(hours.inputs), hours.level)
        forecast.tide_optimizer.zero_grad()
        tide_loss.backward()
        forecast.tide_optimizer.step()
        tide_mean = 0.95 * tide_mean + 0.05 * tide_loss.item()

        stormy = hours.surge.squeeze(1) > 0
        if stormy.any():
            surge_loss = huber_loss(forecast.surge(hours.inputs[stormy]), hours.surge[stormy])
            forecast.surge_optimizer.zero_grad()
            surge_loss.backward()
            forecast.surge_optimizer.step()
            surge_mean = 0.95 * surge_mean + 0.05 * surge_loss.item()

        if rank == 0 and number % log_every == 0:
            log.info("batch %d: tide %.4f, surge %.4f", number, tide_mean, surge_mean)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=600)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--width", type=int, default=28)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--log-every", type=int, default=100)
    args = parser.parse_args()

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(2)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    forecast = Forecast(args.width, args.lr)
    gauge = Gauge(rank, args.batches, args.hours)
    train(forecast, gauge, rank, args.log_every)
    dist.barrier()
    print(f"harbour {rank}: {forecast.level(gauge[0].inputs).mean():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
