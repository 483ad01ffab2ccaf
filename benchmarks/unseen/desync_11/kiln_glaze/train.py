"""Which glazes will craze; trained with Accelerate on the log of a pottery's kiln."""

import argparse

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from balance import balanced_loss
from firings import FEATURES, Firings


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--firings", type=int, default=2550)
    parser.add_argument("--pieces", type=int, default=8)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--report-every", type=int, default=100)
    return parser.parse_args()


def classifier():
    return nn.Sequential(nn.Linear(FEATURES, 24), nn.Tanh(), nn.Linear(24, 1), nn.Flatten(0))


class Run:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        torch.manual_seed(11)
        model = classifier()
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        loader = DataLoader(Firings(args.firings, args.pieces), batch_size=args.pieces, shuffle=False)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.seen = torch.zeros(2)

    def step(self, glaze, crazed):
        logits = self.model(glaze)
        loss = balanced_loss(logits, crazed)
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item(), ((logits > 0) == crazed.bool()).float().mean().item()

    def train(self):
        for number, (glaze, crazed) in enumerate(self.loader):
            try:
                loss, right = self.step(glaze, crazed)
            except ArithmeticError as error:
                print(f"firing left out in step {number}: {error}", flush=True)
                continue
            self.seen += torch.tensor([right, 1.0])
            if number % self.args.report_every == 0:
                mean = (self.seen[0] / self.seen[1]).item()
                self.accelerator.print(f"step {number}: loss {loss:.3f}, {mean:.1%} right", flush=True)

    def summary(self):
        total = self.accelerator.gather(self.seen.unsqueeze(0)).sum(dim=0)
        self.accelerator.print(f"{(total[0] / total[1]).item():.2%} right in {int(total[1])} firings")


def main():
    torch.set_num_threads(1)
    run = Run(parse())
    run.train()
    run.summary()
    run.accelerator.end_training()


if __name__ == "__main__":
    main()
