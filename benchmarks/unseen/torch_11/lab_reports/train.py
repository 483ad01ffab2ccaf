"""Billing codes of laboratory reports in three languages; every rank reads the reports of one laboratory."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, Dataset

from model import ReportModel, shard

# share of German, French and Italian reports
SHARES = ((0.5, 0.3, 0.2), (0.6, 0.2, 0.2), (0.3, 0.3, 0.4))


class Reports(Dataset):
    def __init__(self, laboratory, count, inputs, codes):
        g = torch.Generator().manual_seed(60 + laboratory)
        shares = torch.tensor(SHARES[laboratory])
        self.language = torch.multinomial(shares, count, replacement=True, generator=g)
        if laboratory == 1:
            # its second site, from where the later reports come, writes German and Italian
            later = torch.arange(count) >= count * 5 // 8
            self.language[later & (self.language == 1)] = 0
        self.features = torch.randn(count, inputs, generator=g)
        self.codes = self.features[:, :codes].argmax(1)

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, index):
        return self.features[index], self.language[index], self.codes[index]


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total += value
        self.count += 1

    @property
    def mean(self):
        return self.total / max(self.count, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reports", type=int, default=3200)
    parser.add_argument("--inputs", type=int, default=24)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--codes", type=int, default=10)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = shard(ReportModel(args.inputs, args.width, 3, args.codes), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(Reports(rank, args.reports, args.inputs, args.codes), batch_size=args.batch)
    for epoch in range(args.epochs):
        meter = Meter()
        for step, (features, language, codes) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(features, language), codes)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            meter.add(loss.item())
            if step % 20 == 0:
                print(f"[{rank}] epoch {epoch} step {step} loss {meter.mean:.3f}", flush=True)
            time.sleep(0.01)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
