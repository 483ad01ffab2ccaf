"""Grades of dried tea leaves from pictures on a belt."""
import argparse
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from publisher import Publisher

GRADES = ("dust", "fannings", "broken", "leaf")


def leaves(count, side, seed):
    g = torch.Generator().manual_seed(seed)
    grade = torch.randint(0, len(GRADES), (count,), generator=g)
    picture = torch.randn(count, 1, side, side, generator=g)
    for i, k in enumerate(grade.tolist()):
        picture[i, :, : 3 * (k + 1), : 3 * (k + 1)] += 1.2
    return TensorDataset(picture, grade)


def network(width=8):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(8 * width, len(GRADES)),
    )


class Grading:
    def __init__(self, args, publisher):
        self.args = args
        self.publisher = publisher
        self.train = leaves(args.leaves, 16, seed=0)
        self.test = leaves(args.leaves // 4, 16, seed=1)
        self.sampler = DistributedSampler(self.train)
        torch.manual_seed(0)
        self.model = DistributedDataParallel(network())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, args.epochs)

    def train_epoch(self, epoch):
        self.model.train()
        self.sampler.set_epoch(epoch)
        for picture, grade in DataLoader(self.train, self.args.batch, sampler=self.sampler):
            loss = nn.functional.cross_entropy(self.model(picture), grade)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.02)
        self.schedule.step()

    @torch.no_grad()
    def confusion(self):
        self.model.eval()
        table = torch.zeros(len(GRADES), len(GRADES))
        sampler = DistributedSampler(self.test, shuffle=False)
        for picture, grade in DataLoader(self.test, self.args.batch, sampler=sampler):
            for true, found in zip(grade.tolist(), self.model.module(picture).argmax(1).tolist()):
                table[true, found] += 1
        own = table.tolist()
        dist.all_reduce(table)
        return own, table

    def fit(self):
        for epoch in range(self.args.epochs):
            self.train_epoch(epoch)
            own, table = self.confusion()
            self.publisher.submit(f"epoch{epoch}_rank{dist.get_rank()}", own)
            if dist.get_rank() == 0:
                self.publisher.submit(f"epoch{epoch}", table.tolist())
                print(f"epoch {epoch}: {(table.trace() / table.sum()).item():.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--leaves", type=int, default=1600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--reports", default=f"{tempfile.gettempdir()}/tea_reports")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    publisher = Publisher(args.reports, writers=2 if dist.get_rank() == 0 else 1)
    Grading(args, publisher).fit()
    publisher.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
