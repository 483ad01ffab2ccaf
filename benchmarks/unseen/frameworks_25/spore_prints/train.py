"""Genus of a mushroom from its spore print, trained season by season and scored on that season's reference trays."""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from prints import FEATURES, GENERA, reference_prints, training_prints
from scores import GenusScores

logger = get_logger("spores")


class SeasonTrainer:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        net = nn.Sequential(nn.Linear(FEATURES, 48), nn.ReLU(), nn.Linear(48, len(GENERA)))
        optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
        self.net, self.optimizer = self.accelerator.prepare(net, optimizer)

    def train(self, season):
        data = training_prints(self.args.prints, season)
        loader = self.accelerator.prepare(DataLoader(data, self.args.batch, shuffle=True))
        self.net.train()
        for prints, genus in loader:
            loss = nn.functional.cross_entropy(self.net(prints), genus)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            time.sleep(0.03)  # reading and cropping

    @torch.no_grad()
    def evaluate(self, season):
        data = reference_prints(self.args.trays, self.args.batch, season, late_frost=season in self.args.frost)
        loader = self.accelerator.prepare(DataLoader(data, self.args.batch))
        self.net.eval()
        scores = GenusScores(self.accelerator)
        for prints, genus in loader:
            scores.add(self.net(prints), genus)
        return scores.table()

    def save(self, folder, season):
        self.accelerator.wait_for_everyone()
        model = self.accelerator.unwrap_model(self.net)
        self.accelerator.save(model.state_dict(), folder / f"season_{season}.pt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=6)
    parser.add_argument("--frost", type=int, nargs="*", default=[3])
    parser.add_argument("--prints", type=int, default=1440)
    parser.add_argument("--trays", type=int, default=12)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(4)
    trainer = SeasonTrainer(args)
    with tempfile.TemporaryDirectory() as folder:
        for season in range(args.seasons):
            trainer.train(season)
            table = trainer.evaluate(season)
            worst = max(table, key=table.get)
            logger.info(f"season {season}: worst {worst} with {table[worst]:.3f}")
            trainer.save(Path(folder), season)
    trainer.accelerator.end_training()


if __name__ == "__main__":
    main()
