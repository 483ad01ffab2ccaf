"""Where a fox goes next: local steps, with the weights averaged over the regions every few steps."""

import logging
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from smoothing import Smoother
from tracks import Region, network

log = logging.getLogger("foxes")


@dataclass
class Plan:
    winters: int = 4
    steps: int = 160
    average_every: int = 5
    smooth_every: int = 10
    lr: float = 0.02


class LocalTrainer:
    def __init__(self, plan, region):
        self.plan, self.region = plan, region
        self.model = network()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=plan.lr)
        self.smoother = Smoother(region)
        self.step = 0

    def local_step(self):
        seen, following = self.region.batch()
        loss = (self.model(seen) - following).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def average(self):
        weights = parameters_to_vector(self.model.parameters())
        dist.all_reduce(weights)
        weights /= dist.get_world_size()
        vector_to_parameters(weights, self.model.parameters())
        return weights

    def winter(self, number):
        self.region.begin_winter(number)
        for _ in range(self.plan.steps):
            loss = self.local_step()
            if self.step % self.plan.average_every == 0:
                weights = self.average()
                if self.step % self.plan.smooth_every == 0:
                    self.smoother.put(weights)
            self.step += 1
        return loss


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    plan = Plan()
    trainer = LocalTrainer(plan, Region(dist.get_rank()))
    for number in range(1, plan.winters + 1):
        loss = trainer.winter(number)
        log.info("region %d, winter %d: loss %.4f", trainer.region.number, number, loss)
    smooth = trainer.smoother.close()
    dist.barrier()
    if dist.get_rank() == 0:
        log.info("%d rounds, norm %.3f", trainer.smoother.rounds, float(smooth.norm()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
