"""Warnings for the towers of ski lifts, with Accelerate."""

import copy
import logging

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from lifts import SENSORS, Lifts


def check(network, samples, rounds=25):
    """Accuracy of a copy of the network under noise, of interest to the main process only."""
    copied = copy.deepcopy(network).eval()
    right = 0
    with torch.no_grad():
        for turn in range(rounds):
            for x, y in samples:
                noisy = x + 0.1 * torch.randn(SENSORS)
                right += int((copied(noisy) > 0).float().item() == y.item())
    return right / (rounds * len(samples))


class LiftTrainer:
    def __init__(self, samples=3_600, batch=4, lr=3e-3, check_every=100):
        self.accelerator = Accelerator(cpu=True)
        torch.manual_seed(31)
        network = nn.Sequential(nn.Linear(SENSORS, 40), nn.ReLU(), nn.Linear(40, 1))
        optimizer = torch.optim.AdamW(network.parameters(), lr=lr)
        loader = DataLoader(Lifts(samples), batch_size=batch, drop_last=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(network, optimizer, loader)
        self.criterion = nn.BCEWithLogitsLoss()
        self.check_every = check_every
        towers = Lifts(samples)
        self.held_out = [towers.ask(i, 3) for i in range(60)]

    def train(self):
        for step, (x, y) in enumerate(self.loader, 1):
            loss = self.criterion(self.model(x).squeeze(1), y)
            if (loss > 1.5).item():
                loss = 0.1 * loss  # still a gradient, a small one
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if step % self.check_every == 0 and self.accelerator.is_main_process:
                accuracy = check(self.accelerator.unwrap_model(self.model), self.held_out)
                logging.info("step %d: loss %.3f, accuracy %.3f", step, loss.item(), accuracy)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    trainer = LiftTrainer()
    trainer.train()
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()


if __name__ == "__main__":
    main()
