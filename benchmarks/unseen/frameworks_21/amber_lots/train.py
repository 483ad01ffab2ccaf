"""Age of amber from infrared spectra with Accelerate: trained drawer by drawer, each one scored before it is used."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from drawers import BANDS, drawer
from scores import InclusionScore


class AgeModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(BANDS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.age = nn.Linear(width, 1)

    def forward(self, spectra):
        return 40 + self.age(self.body(spectra)).squeeze(-1)


class DrawerByDrawer:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        model = AgeModel(args.width)
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.score = InclusionScore(self.accelerator)

    def loader(self, number):
        data = drawer(number, self.args.pieces, self.args.seed)
        return self.accelerator.prepare(DataLoader(data, self.args.batch))

    @torch.no_grad()
    def examine(self, loader):
        self.model.eval()
        for spectra, age, inclusion in loader:
            self.score.add(self.model(spectra), age, inclusion)
        self.model.train()
        return self.score.compute()

    def learn(self, loader):
        for _ in range(self.args.passes):
            for spectra, age, _ in loader:
                loss = nn.functional.smooth_l1_loss(self.model(spectra), age)
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.optimizer.zero_grad()
                time.sleep(0.01)

    def run(self):
        for number in range(self.args.drawers):
            loader = self.loader(number)
            before = self.examine(loader)
            self.accelerator.print(f"drawer {number}: off by {before:.2f} million years", flush=True)
            self.learn(loader)
        self.accelerator.end_training()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--drawers", type=int, default=8)
    parser.add_argument("--pieces", type=int, default=480)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    DrawerByDrawer(args).run()


if __name__ == "__main__":
    main()
