"""Prepares scrolls for reading: an autoencoder of flattened columns, with common moments for their brightness."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from dewarp import Dewarper
from scrolls import HEIGHT, WIDTH, Scroll


class CommonMoments:
    """Mean and deviation over the columns of all scrolls, renewed with every column."""

    def __init__(self):
        self.sums = torch.zeros(3, dtype=torch.float64)

    def update(self, column):
        values = column.double()
        part = torch.stack([values.sum(), values.square().sum(), torch.tensor(float(values.numel())).double()])
        dist.all_reduce(part)
        self.sums += part

    def apply(self, column):
        mean = self.sums[0] / self.sums[2]
        deviation = (self.sums[1] / self.sums[2] - mean.square()).clamp(min=1e-6).sqrt()
        return ((column - mean) / deviation).float()


def autoencoder(width):
    return nn.Sequential(nn.Linear(HEIGHT * WIDTH, width), nn.GELU(), nn.Linear(width, HEIGHT * WIDTH))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--columns", type=int, default=240)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--ahead", type=int, default=8)
    parser.add_argument("--width", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = autoencoder(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    moments = CommonMoments()
    for number, column in enumerate(Dewarper(Scroll(rank, args.columns), args.threads, args.ahead)):
        moments.update(column)
        flat = moments.apply(column).flatten()[None]
        loss = nn.functional.mse_loss(model(flat), flat)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 25 == 0:
            print(f"scroll {rank}, column {number}: {loss.item():.3f}", flush=True)
        time.sleep(0.02)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
