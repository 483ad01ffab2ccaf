"""Plant disease classification from a field app's export (CSV of records)."""
import argparse
import csv
import io
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

CLASSES = ["healthy", "rust", "blight", "mildew", "mosaic"]


def export(n=600):
    """What the app's back end sends: id;label;device."""
    rows = io.StringIO()
    w = csv.writer(rows, delimiter=";")
    for i in range(n):
        label = CLASSES[(7 * i) % len(CLASSES)]
        if i == 397:
            label = "leaf_curl"
        w.writerow([f"img{i:05d}", label, f"dev{i % 13}"])
    rows.seek(0)
    return rows


class FieldRecords(Dataset):
    def __init__(self, table):
        self.rows = list(csv.reader(table, delimiter=";"))
        self.index = {c: i for i, c in enumerate(CLASSES)}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        name, label, _ = self.rows[i]
        g = torch.Generator().manual_seed(i)
        target = self.index[label]
        return torch.randn(3, 16, 16, generator=g) + 0.2 * target, target


def build():
    return nn.Sequential(
        nn.Conv2d(3, 10, 3, 2, 1), nn.BatchNorm2d(10), nn.ReLU(),
        nn.Conv2d(10, 20, 3, 2, 1), nn.BatchNorm2d(20), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(20, len(CLASSES)),
    )


def cleanup():
    # do not tear the group down under ranks that still communicate
    dist.barrier()
    dist.destroy_process_group()


def fit(model, loader, opt, epochs, verbose):
    crit = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            opt.zero_grad()
            loss = crit(model(x), y)
            loss.backward()
            opt.step()
            if verbose and step % 5 == 0:
                print(f"{epoch}:{step:03d} {loss.item():.4f}", file=sys.stderr)


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("-e", "--epochs", type=int, default=2)
    p.add_argument("-b", "--batch-size", type=int, default=5)
    p.add_argument("--lr", type=float, default=0.01)
    a = p.parse_args(argv)

    dist.init_process_group("gloo")
    try:
        torch.manual_seed(0)
        data = FieldRecords(export())
        loader = DataLoader(data, a.batch_size, sampler=DistributedSampler(data, shuffle=False))
        model = DDP(build())
        opt = torch.optim.SGD(model.parameters(), a.lr, momentum=0.9, nesterov=True)
        fit(model, loader, opt, a.epochs, dist.get_rank() == 0)
    finally:
        cleanup()


if __name__ == "__main__":
    main()
