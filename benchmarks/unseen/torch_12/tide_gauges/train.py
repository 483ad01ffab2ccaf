"""Predicts the next hour at tide gauges from series of different lengths."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

from batching import HourBudget


class Gauges(Dataset):
    def __init__(self, count, storms):
        self.lengths = [24 + 8 * (i % 4) for i in range(count)]
        for i in storms:
            self.lengths[i] = 168

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        t = torch.arange(self.lengths[i] + 1) / 12.4
        return torch.sin(6.283 * t + i) + 0.1 * torch.randn(len(t), generator=g)


def collate(series):
    batch = nn.utils.rnn.pad_sequence(series, batch_first=True)
    return batch[:, :-1, None], batch[:, 1:]


class TideNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).squeeze(-1)


def stages(args):
    """Calm months first, then everything."""
    calm = Gauges(args.series, [])
    full = Gauges(args.series, range(0, args.series, 7))
    return [(calm, args.calm_epochs), (full, args.epochs)]


def train_epoch(model, optimizer, loader):
    total, steps = 0.0, 0
    for x, y in loader:
        time.sleep(0.02)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
    return {"loss": total / max(steps, 1), "steps": steps}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--series", type=int, default=360)
    parser.add_argument("--hours", type=int, default=536)
    parser.add_argument("--calm-epochs", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DDP(TideNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for data, epochs in stages(args):
        batches = HourBudget(data.lengths, rank, world, args.hours)
        loader = DataLoader(data, batch_sampler=batches, collate_fn=collate)
        for epoch in range(epochs):
            batches.set_epoch(epoch)
            row = train_epoch(model, optimizer, loader)
            rows = [None] * world
            dist.all_gather_object(rows, row)
            if rank == 0:
                print(f"epoch {epoch}: {sum(r['loss'] for r in rows) / world:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
