"""Growth of kelp on long lines with Accelerate; every process follows the log of one site."""

import argparse
import logging
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from feed import SENSORS, BackgroundFeed, Logbook

log = logging.getLogger("kelp")


@dataclass
class Config:
    soundings: int
    batch: int
    steps: int
    report: int
    lr: float
    seed: int = 21

    @classmethod
    def from_command_line(cls):
        parser = argparse.ArgumentParser()
        parser.add_argument("--soundings", type=int, default=2400)
        parser.add_argument("--batch", type=int, default=8)
        parser.add_argument("--steps", type=int, default=400)
        parser.add_argument("--report", type=int, default=50)
        parser.add_argument("--lr", type=float, default=1e-3)
        return cls(**vars(parser.parse_args()))


def build(width=48):
    return nn.Sequential(nn.Linear(SENSORS, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))


class Season:
    """Takes one batch after the other from the feed and reports the mean loss of all sites."""

    def __init__(self, config, accelerator):
        self.config = config
        self.accelerator = accelerator
        model = build()
        optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
        self.model, self.optimizer = accelerator.prepare(model, optimizer)
        logbook = Logbook(accelerator.process_index, config.soundings, config.seed)
        self.feed = BackgroundFeed(logbook, config.batch)

    def step(self):
        depths, growth = self.feed.next()
        loss = nn.functional.mse_loss(self.model(depths).squeeze(-1), growth)
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def run(self):
        since = []
        for step in range(1, self.config.steps + 1):
            since.append(self.step())
            time.sleep(0.03)
            if step % self.config.report == 0:
                mean = self.accelerator.gather(torch.stack(since).mean().reshape(1)).mean()
                since.clear()
                if self.accelerator.is_main_process:
                    log.info("step %d: loss %.4f", step, mean.item())


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    config = Config.from_command_line()
    set_seed(config.seed)
    accelerator = Accelerator(cpu=True)
    Season(config, accelerator).run()
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
