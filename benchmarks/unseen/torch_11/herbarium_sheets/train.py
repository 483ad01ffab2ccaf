"""Plant families from scans of herbarium sheets."""

import dataclasses
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from sheets import RandomCrop, Sheets, as_lists

log = logging.getLogger("herbarium")


@dataclasses.dataclass
class Options:
    sheets: int = 900
    families: int = 6
    crop: int = 24
    batch: int = 10
    epochs: int = 12
    lr: float = 0.02


class FamilyNet(nn.Module):
    def __init__(self, families):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
        )
        self.head = nn.Linear(64, families)

    def forward(self, crops):
        return self.head(self.features(crops).flatten(1))


class Trainer:
    def __init__(self, options):
        self.options = options
        self.rank = dist.get_rank()
        data = Sheets(options.sheets, options.families, seed=8)
        self.sampler = DistributedSampler(data, seed=4)
        self.loader = DataLoader(data, options.batch, sampler=self.sampler, collate_fn=as_lists)
        self.crop = RandomCrop(options.crop, seed=self.rank)
        torch.manual_seed(4)
        self.model = DDP(FamilyNet(options.families))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=options.lr, momentum=0.9)
        self.failures = 0

    def _step(self, images, families):
        crops = torch.stack([self.crop(image) for image in images]).unsqueeze(1)
        logits = self.model(crops)
        loss = nn.functional.cross_entropy(logits, families)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return (logits.argmax(1) == families).sum().item()

    def step(self, images, families):
        try:
            return self._step(images, families)
        except (OSError, ValueError) as error:
            self.failures += 1
            log.warning("rank %d: bad batch (%s), %d so far", self.rank, error, self.failures)
            return 0

    def train_epoch(self):
        correct = seen = 0
        for images, families in self.loader:
            correct += self.step(images, families)
            seen += len(images)
            time.sleep(0.01)
        return correct, seen

    def report(self, epoch, correct, seen):
        counts = [None] * dist.get_world_size()
        dist.all_gather_object(counts, (correct, seen))
        if self.rank == 0:
            share = sum(c for c, _ in counts) / sum(s for _, s in counts)
            log.info("epoch %d accuracy %.3f", epoch, share)

    def run(self):
        for epoch in range(self.options.epochs):
            self.sampler.set_epoch(epoch)
            correct, seen = self.train_epoch()
            self.report(epoch, correct, seen)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(Options()).run()
    dist.destroy_process_group()
