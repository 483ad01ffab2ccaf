"""Wear of tram bells from their sound: local SGD with Accelerate, one pass over each month."""

import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.local_sgd import LocalSGD
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from recordings import SAMPLES, Month

logger = logging.getLogger(__name__)


class BellNet(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, channels, 9, stride=4), nn.ReLU(), nn.Conv1d(channels, 8, 9, stride=4), nn.ReLU()
        )
        self.out = nn.LazyLinear(1)

    def forward(self, wave):
        return self.out(self.conv(wave.unsqueeze(1)).flatten(1)).squeeze(-1)


class LocalTrainer:
    """Trains on the depots of the process and averages the weights every `local_steps` steps."""

    def __init__(self, accelerator, args):
        self.accelerator = accelerator
        self.args = args
        model = BellNet()
        model(torch.zeros(1, SAMPLES))
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
        self.model, self.optimizer = accelerator.prepare(model, optimizer)
        self.held_out = accelerator.prepare(DataLoader(Month(0, 96), args.batch))

    def train_month(self, month):
        loader = self.accelerator.prepare(DataLoader(Month(month, self.args.recordings), self.args.batch))
        with LocalSGD(self.accelerator, self.model, local_sgd_steps=self.args.local_steps) as local_sgd:
            for wave, wear in loader:
                loss = nn.functional.mse_loss(self.model(wave), wear)
                if not torch.isfinite(loss):
                    logger.warning("month %d: no usable loss", month)
                    continue
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.optimizer.zero_grad()
                local_sgd.step()
                time.sleep(0.03)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        errors = [nn.functional.l1_loss(self.model(wave), wear, reduction="none") for wave, wear in self.held_out]
        self.model.train()
        return self.accelerator.gather(torch.cat(errors)).mean().item()

    def fit(self):
        for month in range(1, self.args.months + 1):
            self.train_month(month)
            error = self.evaluate()
            self.accelerator.print(f"month {month}: mean error {error:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=4)
    parser.add_argument("--recordings", type=int, default=720)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--local-steps", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(4)
    accelerator = Accelerator(cpu=True)
    LocalTrainer(accelerator, args).fit()
    accelerator.end_training()


if __name__ == "__main__":
    main()
