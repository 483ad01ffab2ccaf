"""Segmentation of pods on pictures from a phenotyping greenhouse."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from pods import PodCrops


class Segmenter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.middle = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x):
        return self.up(self.middle(self.down(x)))


class Meter:
    def __init__(self):
        self.values = torch.zeros(2)

    def add(self, value, n):
        self.values += torch.tensor([value * n, float(n)])

    def mean(self):
        dist.all_reduce(self.values)
        return (self.values[0] / self.values[1]).item()


def dice(logits, mask):
    p = torch.sigmoid(logits)
    return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


def build(args):
    dataset = PodCrops(args.pictures)
    sampler = DistributedSampler(dataset, shuffle=True, seed=args.seed)
    loader = DataLoader(dataset, args.batch, sampler=sampler, num_workers=args.workers, drop_last=True)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Segmenter())
    return dataset, sampler, loader, model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=480)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=9)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    dataset, sampler, loader, model = build(args)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        dataset.begin(epoch)
        sampler.set_epoch(epoch)
        meter = Meter()
        for picture, mask in loader:
            logits = model(picture)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, mask) + dice(logits, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.add(loss.item(), len(picture))
            time.sleep(0.03)
        mean = meter.mean()
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {mean:.3f} share {dataset.share:.2f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
