"""Force at the blade from the acceleration of the boat; Accelerate."""

import argparse
import contextlib
import statistics

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from boats import SAMPLES, Cadence, Session


class Coach:
    """Holds what a step needs, and the losses of the last steps."""

    def __init__(self, accelerator, args):
        self.accelerator, self.cadence = accelerator, Cadence(accelerator.process_index)
        model = nn.Sequential(nn.Linear(SAMPLES, 40), nn.SiLU(), nn.Linear(40, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        loader = DataLoader(Session(args.chunks), batch_size=1, collate_fn=lambda chunks: chunks[0])
        self.model, self.optimizer, self.loader = accelerator.prepare(model, optimizer, loader)
        self.recent = []

    def learn(self, signal, force):
        scaled = self.cadence(signal)
        loss = nn.functional.huber_loss(self.model(scaled), force)
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.recent = [*self.recent[-49:], loss.item()]

    def session(self):
        for number, (signal, force) in enumerate(self.loader):
            with contextlib.suppress(statistics.StatisticsError):
                self.learn(signal, force)
            if number % 60 == 59:
                self.accelerator.print(f"chunk {number + 1}: {statistics.fmean(self.recent):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=1440)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(17)
    accelerator = Accelerator(cpu=True)
    coach = Coach(accelerator, args)
    coach.session()
    accelerator.wait_for_everyone()
    accelerator.print("done", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
