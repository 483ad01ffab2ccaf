"""Damage of bridges from windows of their strain gauges; the network is a pipeline over the processes."""
import argparse
import dataclasses
import logging
import time

import torch
import torch.distributed as dist

from meters import Meters
from stages import build

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")


@dataclasses.dataclass
class Config:
    gauges: int = 24
    width: int = 32
    blocks: int = 7
    classes: int = 4
    batch: int = 32
    microbatches: int = 4
    steps: int = 400
    report_every: int = 25
    lr: float = 1e-3
    seed: int = 12


class Windows:
    """Windows of a swaying bridge: the damage shifts one band of the gauges."""

    def __init__(self, config):
        self.config = config
        self.generator = torch.Generator().manual_seed(config.seed)
        self.bands = torch.randn(config.classes, config.gauges, generator=self.generator)

    def __iter__(self):
        while True:
            damage = torch.randint(self.config.classes, (self.config.batch,), generator=self.generator)
            noise = torch.randn(self.config.batch, self.config.gauges, generator=self.generator)
            yield 0.7 * self.bands[damage] + noise, damage


class PipelineTrainer:
    def __init__(self, config):
        self.config = config
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.module, self.stage, self.schedule = build(config, self.rank, self.world)
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=config.lr)
        self.meters = Meters(config.report_every)

    def feed(self, windows, damage):
        """One batch through the pipeline; only the last stage has logits and losses."""
        if self.stage.is_first:
            self.schedule.step(windows)
            return None
        if self.stage.is_last:
            losses = []
            logits = self.schedule.step(target=damage, losses=losses)
            right = (logits.argmax(1) == damage).float().mean()
            return torch.stack(losses).mean().item(), right.item()
        self.schedule.step()
        return None

    def fit(self, data):
        for step, (windows, damage) in zip(range(self.config.steps), data):
            self.optimizer.zero_grad()
            outcome = self.feed(windows, damage)
            self.optimizer.step()
            if outcome is not None:
                self.meters.add(loss=outcome[0], accuracy=outcome[1])
                self.meters.report(step)
            time.sleep(0.01)
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=Config.steps)
    parser.add_argument("--report-every", type=int, default=Config.report_every)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    config = Config(steps=args.steps, report_every=args.report_every)
    PipelineTrainer(config).fit(Windows(config))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
