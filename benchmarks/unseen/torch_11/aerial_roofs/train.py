"""Roof masks in aerial tiles: a small convolutional network, one process for each part of the tiles."""

import dataclasses
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from preview import PreviewWriter


@dataclasses.dataclass
class Config:
    tiles: int = 480
    size: int = 24
    batch: int = 8
    epochs: int = 20
    lr: float = 1e-2


class Tiles(Dataset):
    def __init__(self, count, size, seed):
        g = torch.Generator().manual_seed(seed)
        self.images = torch.rand(count, 3, size, size, generator=g)
        self.masks = (nn.functional.avg_pool2d(self.images, 5, 1, 2).mean(1, keepdim=True) > 0.5).float()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], self.masks[index]


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


class RoofTrainer:
    def __init__(self, cfg, folder):
        self.cfg = cfg
        self.folder = folder
        self.rank = dist.get_rank()
        data = Tiles(cfg.tiles, cfg.size, seed=1)
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, cfg.batch, sampler=self.sampler)
        torch.manual_seed(7)
        network = nn.Sequential(block(3, 8), block(8, 8), nn.Conv2d(8, 1, 1))
        self.model = DDP(network)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=0.9)
        self.hooks = []

    def add_hook(self, hook):
        self.hooks.append(hook)

    def train_epoch(self):
        for image, mask in self.loader:
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(image), mask)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def save(self, epoch):
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), os.path.join(self.folder, "last.pt"))
        dist.barrier()

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.sampler.set_epoch(epoch)
            loss = self.train_epoch()
            print(f"[{self.rank}] epoch {epoch} loss {loss:.4f}", flush=True)
            for hook in self.hooks:
                hook(self.model, epoch)
            self.save(epoch)


def main():
    cfg = Config()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as folder:
        trainer = RoofTrainer(cfg, folder)
        if dist.get_rank() == 0:
            trainer.add_hook(PreviewWriter(folder, Tiles(4, cfg.size, seed=2).images))
        trainer.fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
