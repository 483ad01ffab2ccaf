"""Deep kernel for soil moisture: a network maps a probe's site to features, a Gaussian process explains its reading.

Each process has the plots of one survey team.
"""
import argparse
import logging
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from numerics import StepGuard, negative_log_likelihood


@dataclass
class Survey:
    team: int
    plots: int = 110
    probes: int = 24
    instrument: float = 0.05

    def plot(self, number):
        """Sites, readings and their variance: what repeated readings scatter, less what the instrument adds."""
        g = torch.Generator().manual_seed(10_000 * self.team + number)
        sites = torch.rand(self.probes, 3, generator=g) * 2 - 1
        truth = torch.sin(2 * sites[:, 0]) + 0.5 * sites[:, 1] * sites[:, 2]
        scatter = 0.1 + 0.05 * torch.rand(self.probes, generator=g)
        readings = truth + scatter.sqrt() * torch.randn(self.probes, generator=g)
        instrument = self.instrument
        if self.team == 2 and number % 70 == 47:
            instrument = 1.6  # the spare probe, by its calibration sheet
        return sites, readings, scatter - instrument


class SiteFeatures(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 4))
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, sites):
        return self.body(sites), self.log_scale.exp()


class Kriging:
    def __init__(self, width, lr):
        torch.manual_seed(3)
        self.model = DDP(SiteFeatures(width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.guard = StepGuard()

    def step(self, sites, readings, variance):
        features, scale = self.model(sites)
        loss = negative_log_likelihood(features, scale, variance, readings)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def season(self, survey):
        losses = []
        for number in range(survey.plots):
            loss = self.guard.run(self.step, number, *survey.plot(number))
            if loss is not None:
                losses.append(loss)
            time.sleep(0.015)
        return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seasons", type=int, default=4)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    kriging = Kriging(args.width, args.lr)
    survey = Survey(team=dist.get_rank())
    for season in range(args.seasons):
        mean = torch.tensor([kriging.season(survey)])
        table = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(table, mean)
        if dist.get_rank() == 0:
            logging.info("season %d: %s", season, " ".join(f"{entry.item():.4f}" for entry in table))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
