"""Will a visitor come again? With Accelerate, and a ledger of the visitors that the network has seen."""

import argparse
import logging

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from retry import Ledger, PageFull, Retry
from visits import ROOMS, Visits, guided


class Trainer:
    def __init__(self, accelerator, network, lr, lines):
        self.accelerator = accelerator
        optimizer = torch.optim.SGD(network.parameters(), lr=lr, momentum=0.9)
        self.model, self.optimizer = accelerator.prepare(network, optimizer)
        self.ledger = Ledger(lines)
        self.criterion = nn.BCEWithLogitsLoss()

    def step(self, minutes, again, indices):
        """Trains on a batch and notes who was in it."""
        loss = self.criterion(self.model(minutes).squeeze(1), again)
        self.optimizer.zero_grad()
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.ledger.write(guided(indices))
        return loss.item()

    def fit(self, loader):
        step = Retry(self.step, PageFull, self.ledger.turn)
        mean = 0.7
        for number, batch in enumerate(loader):
            mean += 0.02 * (step(*batch) - mean)
            if number % 100 == 0:
                self.accelerator.print(f"batch {number}: {mean:.3f}", flush=True)
        self.accelerator.wait_for_everyone()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--visits", type=int, default=8160)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(31)
    accelerator = Accelerator(cpu=True)
    network = nn.Sequential(nn.Linear(ROOMS, 28), nn.ReLU(), nn.Linear(28, 1))
    loader = DataLoader(Visits(accelerator.process_index, args.visits), batch_size=args.batch)
    Trainer(accelerator, network, args.lr, args.lines).fit(loader)
    accelerator.end_training()


if __name__ == "__main__":
    main()
