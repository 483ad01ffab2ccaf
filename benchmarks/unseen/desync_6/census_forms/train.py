"""Sizes of households from census forms, with Accelerate."""

import argparse
import logging

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from forms import DISTRICTS, OCCUPATIONS, Encoder, Forms, as_lists

log = logging.getLogger("census")


class Household(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.occupation = nn.Embedding(len(OCCUPATIONS), width)
        self.district = nn.Embedding(DISTRICTS, width)
        self.head = nn.Sequential(nn.Linear(2 * width + 1, width), nn.ReLU(), nn.Linear(width, 6))

    def forward(self, occupation, district, age):
        parts = [self.occupation(occupation), self.district(district), age.unsqueeze(1) / 100]
        return self.head(torch.cat(parts, dim=1))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        torch.manual_seed(args.seed)
        model = Household()
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        loader = DataLoader(Forms(args.forms), args.batch, collate_fn=as_lists, drop_last=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.encode = Encoder()
        self.unreadable = 0

    def step(self, form):
        occupation = torch.tensor(self.encode(form["occupation"]))
        age = torch.tensor(form["age"], dtype=torch.float32)
        logits = self.model(occupation, torch.tensor(form["district"]), age)
        loss = nn.functional.cross_entropy(logits, torch.tensor(form["size"]))
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def run(self):
        for number, form in enumerate(self.loader):
            try:
                loss = self.step(form)
            except KeyError as error:
                self.unreadable += 1
                log.warning("batch %d: unknown %s", number, error)
                continue
            if number % 60 == 0:
                self.accelerator.print(f"batch {number}: {loss:.3f}", flush=True)
        self.accelerator.wait_for_everyone()
        self.accelerator.end_training()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--forms", type=int, default=11_520)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=40)
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.WARNING)
    Trainer(parser.parse_args()).run()


if __name__ == "__main__":
    main()
