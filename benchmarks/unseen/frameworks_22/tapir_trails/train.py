"""Animals on the trails with Accelerate: train, look at films by hand, and keep a field book."""

import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import nn
from torch.utils.data import DataLoader

from field_book import FieldBook
from traps import ANIMALS, FEATURES, Films


def build_model():
    return nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, len(ANIMALS)))


class Expedition:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        with self.accelerator.main_process_first():
            if self.accelerator.is_main_process:
                time.sleep(3.5)  # the recorder's index
            films = Films(args.films, seed=1, busy={168: 3, 900: 2})
        self.held_out = Films(23, seed=2)
        model = build_model()
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        loader = DataLoader(films, batch_size=args.batch)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.book = FieldBook()

    def train_epoch(self, epoch):
        losses = []
        for features, labels in self.loader:
            loss = nn.functional.cross_entropy(self.model(features), labels)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            losses.append(loss.item())
            time.sleep(0.01 * (1 + self.accelerator.process_index))
        mean = sum(losses) / len(losses)
        self.book.add(f"epoch {epoch}: {mean:.3f}")
        if mean < self.args.enough:
            self.accelerator.set_trigger()
        return self.accelerator.check_trigger()

    @torch.no_grad()
    def look(self):
        """Each process looks at its share of the films, which are not equally many, and takes its time."""
        model = self.accelerator.unwrap_model(self.model)
        found = []
        with self.accelerator.split_between_processes(list(range(len(self.held_out)))) as share:
            for i in share:
                features, label = self.held_out[i]
                found.append((i, model(features).argmax().item() == label.item()))
                time.sleep(0.05 + 0.35 * (self.accelerator.process_index == 2))
        return gather_object(found)

    def run(self):
        for epoch in range(self.args.epochs):
            stop = self.train_epoch(epoch)
            if self.accelerator.is_main_process:
                self.accelerator.print(self.book.bind(1.3), flush=True)
            self.accelerator.wait_for_everyone()
            if stop:
                break
        found = self.look()
        right = sum(good for _, good in found)
        self.accelerator.print(f"{right} of {len(found)} films are right", flush=True)
        for i, good in found if self.accelerator.is_main_process else []:
            if i % 3 == 0:
                self.book.add(f"film {i}: {'right' if good else 'wrong'}")
        self.book.close()
        self.accelerator.end_training()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--films", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--enough", type=float, default=0.05)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(31)
    Expedition(args).run()


if __name__ == "__main__":
    main()
