"""State of the road (dry, wet, snow) month by month, with FSDP2."""

import logging
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from winter import MONTHS, PIXELS, Camera, from_month


@dataclass
class Config:
    per_month: int = 640
    batch_size: int = 8
    width: int = 40
    lr: float = 0.01


class MonthTrainer:
    """Trains through the winter, one month after the other, with a lower rate for later months."""

    def __init__(self, config, camera):
        self.config, self.camera = config, camera
        torch.manual_seed(8)
        self.model = nn.Sequential(
            nn.Linear(PIXELS, config.width),
            nn.ReLU(),
            nn.Linear(config.width, config.width),
            nn.ReLU(),
            nn.Linear(config.width, 3),
        )
        fully_shard(self.model[2])
        fully_shard(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=config.lr, momentum=0.9)

    def step(self, pictures, states):
        loss = nn.functional.cross_entropy(self.model(pictures), states)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def month(self, number):
        losses = []
        for pictures, states, months in from_month(self.camera, MONTHS[number], self.config.batch_size):
            if months[0] != number:
                break
            losses.append(self.step(pictures, states))
        return losses

    def winter(self):
        for number, name in enumerate(MONTHS):
            for group in self.optimizer.param_groups:
                group["lr"] = self.config.lr / (1 + number)
            losses = self.month(number)
            if self.camera.number == 0:
                logging.info("%s: %d steps, loss %.3f", name, len(losses), sum(losses) / len(losses))


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    config = Config()
    trainer = MonthTrainer(config, Camera(dist.get_rank(), config.per_month))
    trainer.winter()
    dist.barrier()
    logging.info("camera %d is done", trainer.camera.number)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
