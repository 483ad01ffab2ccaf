"""Forecast of the daily gain of bee hives, one apiary for each process."""
import argparse
import logging
import os
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, RandomSampler

from callbacks import EarlyStopping, KeepBest, Teller
from hives import FEATURES, describe, persistence_error, training_days, validation_days

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("hives")


class Trainer:
    def __init__(self, model, optimizer, callbacks, epochs):
        self.model, self.optimizer = model, optimizer
        self.callbacks = callbacks
        self.epochs = epochs
        self.epoch = 0
        self.should_stop = False
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def train_epoch(self, loader):
        self.model.train()
        for weather, gain in loader:
            loss = nn.functional.smooth_l1_loss(self.model(weather).squeeze(1), gain)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.02)

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        loss, error, count = 0.0, 0.0, 0
        for weather, gain in loader:
            guess = self.model.module(weather).squeeze(1)
            loss += nn.functional.smooth_l1_loss(guess, gain, reduction="sum").item()
            error += (guess - gain).abs().sum().item()
            count += len(gain)
        shared = torch.tensor([loss, float(count)])
        dist.all_reduce(shared)
        return {"loss": (shared[0] / shared[1]).item(), "mae": error / count}

    def fit(self, training, validation):
        for self.epoch in range(self.epochs):
            self.train_epoch(training)
            figures = self.validate(validation)
            for callback in self.callbacks:
                callback.after_validation(self, figures)
            if self.should_stop:
                log.info("stopped after epoch %d", self.epoch)
                break

    def save(self, folder, weights):
        """The weights as a distributed checkpoint, which every process writes a part of."""
        dcp.save({"model": weights}, checkpoint_id=folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--lr", type=float, default=0.006)
    parser.add_argument("--patience", type=int, default=3)
    parser.add_argument("--monitor", default="mae")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    model = DDP(nn.Sequential(nn.Linear(FEATURES, 32), nn.Tanh(), nn.Linear(32, 1)))
    best = KeepBest()
    callbacks = [Teller(), best, EarlyStopping(args.monitor, args.patience)]
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5), callbacks, args.epochs)
    days, held_out = training_days(rank), validation_days(rank)
    log.info("process %d: %s, persistence %.2f", rank, describe(days), persistence_error(held_out))
    training = DataLoader(days, batch_size=16, sampler=RandomSampler(days))
    trainer.fit(training, DataLoader(held_out, batch_size=40))
    folder = os.path.join(tempfile.gettempdir(), "hives-" + os.environ.get("TORCHELASTIC_RUN_ID", "local"))
    trainer.save(folder, best.weights)
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
