"""Predicts the gain of a hive; batches with few readings are added to the next step."""

import contextlib
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from hives import READINGS, Config, load

logger = logging.getLogger("hives")


class Gain(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.encoder = nn.Linear(2 * READINGS, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, weight, present):
        return self.head(torch.tanh(self.encoder(torch.cat([weight, present.float()], dim=1))))


class Stepper:
    """One optimizer step for each batch, unless it has too little in it to be worth one."""

    def __init__(self, model, config):
        self.model, self.config = model, config
        self.optimizer = torch.optim.SGD(model.parameters(), lr=config.lr)

    def __call__(self, weight, present, gain):
        enough = int(present.sum()) >= self.config.min_readings
        with contextlib.nullcontext() if enough else self.model.no_sync():
            loss = nn.functional.smooth_l1_loss(self.model(weight, present), gain)
            loss.backward()
        if enough:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss.item()


def main():
    torch.set_num_threads(1)
    config = Config()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(relativeCreated)d %(message)s")
    torch.manual_seed(0)
    step = Stepper(DistributedDataParallel(Gain(config.hidden)), config)

    total = 0.0
    for number, batch in enumerate(load(rank, config), start=1):
        total += step(*batch)
        if number % config.report == 0:
            logger.info("%d batches, mean loss %.4f", number, total / number)

    dist.barrier()
    summary = torch.tensor([total])
    dist.all_reduce(summary)
    logger.info("all apiaries: %.4f", summary.item() / config.batches / dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
