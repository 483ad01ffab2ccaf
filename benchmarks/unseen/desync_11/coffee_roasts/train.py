"""The colour of roasted coffee from the temperature curve; Fabric, with a process for each drum."""

import argparse
import logging

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from hooks import LossReport, SecondCrack
from roasts import CURVE, Session


class ColourModel(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.filters = nn.Conv1d(1, channels, 5, padding=2)
        self.out = nn.Linear(channels, 1)

    def forward(self, curve):
        features = torch.relu(self.filters(curve.unsqueeze(1))).mean(dim=2)
        return self.out(features).squeeze(1)


class Loop:
    def __init__(self, fabric, hooks, lr):
        self.fabric, self.hooks = fabric, hooks
        model = ColourModel()
        self.model, self.optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=lr))

    def session(self, loader):
        for roast, (curve, heat, colour) in enumerate(loader):
            loss = nn.functional.mse_loss(self.model(curve), colour)
            self.fabric.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            # Every hook is asked, also after one of them has said no.
            answers = [hook.after_batch(roast, heat, loss.item()) for hook in self.hooks]
            if not all(answers):
                break

    def run(self, sessions, roasts):
        for session in range(sessions):
            for hook in self.hooks:
                hook.before_session(session)
            dataset = Session(self.fabric.global_rank, session, roasts)
            self.session(DataLoader(dataset, batch_size=None, shuffle=False))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--roasts", type=int, default=75)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--drums", type=int, default=3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)

    fabric = Fabric(accelerator="cpu", devices=args.drums, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(17, verbose=False)
    report = LossReport(quiet=fabric.global_rank > 0)
    loop = Loop(fabric, [report, SecondCrack()], args.lr)
    loop.run(args.sessions, args.roasts)
    losses = fabric.all_gather(torch.tensor(report.smooth))
    fabric.print("losses of the drums:", [round(x, 5) for x in losses.tolist()])


if __name__ == "__main__":
    main()
