"""Rain of the next pentad from pressure and moisture; two replicas of the years times two regions of the map."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from axes import Exchange, Grid


class Years:
    """Maps of a region in the years of a replica."""

    def __init__(self, replica, region, batch):
        self.g = torch.Generator().manual_seed(31 * replica + region)
        self.offset = 0.5 * region
        self.batch = batch

    def draw(self):
        maps = torch.randn(self.batch, 2, 8, 8, generator=self.g) + self.offset
        rain = (maps[:, 0].mean(dim=(1, 2)) * 3 - maps[:, 1, :4].mean(dim=(1, 2))).tanh()
        return maps, rain


class RainNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, channels, 3, padding=1), nn.GELU(), nn.Conv2d(channels, channels, 3, stride=2), nn.GELU()
        )
        self.head = nn.Linear(channels, 1)

    def forward(self, maps):
        return self.head(self.body(maps).mean(dim=(2, 3)))[:, 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--spread-after", type=int, default=90)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO, format=f"[{dist.get_rank()}] %(message)s")
    grid = Grid(2, dist.get_world_size() // 2)
    years = Years(grid.replica, grid.region, args.batch)
    torch.manual_seed(grid.region)
    net = RainNet(args.channels)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    moments = torch.tensor([0.0, 1.0])
    exchange = Exchange(grid, net, moments, args.spread_after)
    for step in range(args.steps):
        maps, rain = years.draw()
        moments.lerp_(torch.stack([maps.mean(), maps.std()]), 0.1)
        loss = nn.functional.mse_loss(net((maps - moments[0]) / moments[1]), rain)
        optimizer.zero_grad()
        loss.backward()
        exchange.run(step)
        optimizer.step()
        if step % 50 == 0:
            logging.info("step %d loss %.4f", step, loss.item())
        time.sleep(0.02)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
