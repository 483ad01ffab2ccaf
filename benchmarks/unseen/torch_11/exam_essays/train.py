"""Marks for exam essays. Training is distributed, the exam is taken by the first process."""

import argparse
import json
import logging
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from judge import EssayJudge

log = logging.getLogger("essays")


def sentences(count, width):
    g = torch.Generator().manual_seed(14)
    x = torch.randn(count, width, generator=g)
    return TensorDataset(x, x.mean(1, keepdim=True) * 4)


class Trainer:
    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.rank = dist.get_rank()
        data = sentences(args.sentences, args.width)
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, args.batch, sampler=self.sampler)
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(args.width, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 1))
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.judge = EssayJudge(args.essays, 12, args.width) if self.rank == 0 else None
        self.best = float("inf")

    def train_epoch(self):
        self.model.train()
        for x, mark in self.loader:
            loss = nn.functional.smooth_l1_loss(self.model(x), mark)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def examine(self, epoch):
        if self.judge is not None:
            self.model.eval()
            score = self.judge.score(self.model.module)
            log.info("epoch %d off by %.4f", epoch, score)
            if score < self.best:
                self.best = score
                torch.save(self.model.module.state_dict(), os.path.join(self.folder, "best.pt"))
            with open(os.path.join(self.folder, "scores.jsonl"), "a") as file:
                file.write(json.dumps({"epoch": epoch, "score": score}) + "\n")
        dist.barrier()

    def fit(self):
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            self.train_epoch()
            if epoch % self.args.examine_every == 1:
                self.examine(epoch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--essays", type=int, default=140)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--examine-every", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as directory:
        Trainer(options, directory).fit()
    dist.destroy_process_group()
