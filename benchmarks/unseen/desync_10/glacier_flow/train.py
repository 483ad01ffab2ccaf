"""A network for the forcing of a glacier, trained through the balance of its flow."""

import logging
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from data import CELLS, Profiles
from solver import Balance, NotConverged

log = logging.getLogger("glacier")


@dataclass
class Settings:
    batch: int = 4
    width: int = 40
    lr: float = 3e-3
    report: int = 100


class Inversion:
    def __init__(self, settings):
        self.settings = settings
        self.accelerator = Accelerator(cpu=True)
        torch.manual_seed(17)
        network = nn.Sequential(nn.Linear(CELLS, settings.width), nn.Tanh(), nn.Linear(settings.width, CELLS))
        optimizer = torch.optim.Adam(network.parameters(), lr=settings.lr)
        loader = DataLoader(Profiles(), batch_size=settings.batch)
        self.network, self.optimizer, self.loader = self.accelerator.prepare(network, optimizer, loader)
        self.balance = Balance()
        self.given_up = 0

    def step(self, bed, slip, surface):
        self.optimizer.zero_grad()
        forcing = self.network(bed)
        try:
            height = self.balance(forcing, slip)
            loss = nn.functional.mse_loss(height, surface)
            self.accelerator.backward(loss)
            self.optimizer.step()
        except NotConverged as error:
            self.given_up += 1
            log.warning("profile given up: %s", error)
            return None
        return loss.item()

    def train(self):
        average = None
        for number, batch in enumerate(self.loader):
            value = self.step(*batch)
            if value is not None:
                average = value if average is None else 0.98 * average + 0.02 * value
            if number % self.settings.report == 0:
                self.accelerator.print(f"{number}: {average:.4f}", flush=True)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    inversion = Inversion(Settings())
    inversion.train()
    inversion.accelerator.wait_for_everyone()
    log.info("given up: %d", inversion.given_up)
    inversion.accelerator.end_training()


if __name__ == "__main__":
    main()
