"""Autoencoder of turbine sensors. Samples with an unusual reconstruction error are noted for the engineers."""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from ledger import Ledger, report_outlier


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--run-dir", type=Path, default=None)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--threshold", type=float, default=20.0)
    p.add_argument("--lr", type=float, default=3e-3)
    return p.parse_args()


def readings(count=1440, sensors=16):
    g = torch.Generator().manual_seed(13)
    hidden = torch.randn(count, 4, generator=g)
    x = hidden @ torch.randn(4, sensors, generator=g) * 0.5 + 0.1 * torch.randn(count, sensors, generator=g)
    x[700] += 25.0  # a lightning strike on 14 June
    return TensorDataset(x)


def shared_folder(wanted):
    """The folder that rank 0 made."""
    made = wanted or (Path(tempfile.mkdtemp(prefix="turbine-")) if dist.get_rank() == 0 else None)
    box = [str(made)]
    dist.broadcast_object_list(box, src=0)
    return Path(box[0])


class Training:
    def __init__(self, args, folder):
        self.args = args
        self.rank = dist.get_rank()
        self.path = folder / "ledger.jsonl"
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 16))
        self.model = DistributedDataParallel(net)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        data = readings()
        self.loader = DataLoader(data, args.batch_size, sampler=DistributedSampler(data, shuffle=False))

    def fit(self):
        with contextlib.ExitStack() as stack:
            ledger = stack.enter_context(Ledger(self.path)) if self.rank == 0 else None
            for epoch in range(self.args.epochs):
                loss = self.epoch(epoch)
                if ledger is not None:
                    ledger.write("epoch", number=epoch, loss=loss)
                    print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    def epoch(self, epoch):
        total = 0.0
        for number, (x,) in enumerate(self.loader):
            errors = (self.model(x) - x).pow(2).mean(1)
            loss = errors.mean()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            total += loss.item()
            self.note(epoch * len(self.loader) + number, errors.detach())
            time.sleep(0.025)
        return total / len(self.loader)

    def note(self, step, errors):
        unusual = errors[errors > self.args.threshold]
        if len(unusual):
            report_outlier(self.path, self.rank, step, unusual.tolist())


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    options = arguments()
    Training(options, shared_folder(options.run_dir)).fit()
    dist.barrier()
    dist.destroy_process_group()
