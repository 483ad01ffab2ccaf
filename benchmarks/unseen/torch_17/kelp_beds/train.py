"""Cover of kelp beds from satellite spectra, trained with DistributedDataParallel."""
import argparse
import logging
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from meters import Meter, MeterSet

log = logging.getLogger("kelp")


def spectra(count, bands, seed=3):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(count, bands, generator=g)
    cover = torch.sigmoid(4 * (x[:, 4] - x[:, 2]) + x[:, 0] * x[:, 5])
    return TensorDataset(x, cover + 0.03 * torch.randn(count, generator=g))


def setup_logging(rank):
    """One process reports the progress; the others only speak up when something is wrong."""
    logging.basicConfig(
        level=logging.INFO if rank == 0 else logging.WARNING,
        format=f"%(asctime)s [{rank}] %(levelname)s %(message)s",
    )


class Trainer:
    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.rank = dist.get_rank()
        torch.manual_seed(args.seed)
        net = nn.Sequential(nn.Linear(args.bands, args.width), nn.GELU(), nn.LayerNorm(args.width),
                            nn.Linear(args.width, args.width), nn.GELU(), nn.Linear(args.width, 1))
        self.model = DDP(net)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        data = spectra(args.samples, args.bands)
        self.sampler = DistributedSampler(data, seed=args.seed, drop_last=True)
        self.loader = DataLoader(data, batch_size=args.batch, sampler=self.sampler, drop_last=True)
        self.meters = MeterSet(loss=Meter(), error=Meter("{:.3f}"))

    def step(self, x, cover):
        guess = self.model(x)[:, 0]
        loss = nn.functional.smooth_l1_loss(guess, cover)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.meters.update(len(x), loss=loss.item(), error=(guess - cover).abs().mean().item())

    def epoch(self, number):
        self.sampler.set_epoch(number)
        self.meters.reset()
        started = time.monotonic()
        for index, (x, cover) in enumerate(self.loader):
            time.sleep(self.args.read)
            self.step(x, cover)
            if index % 25 == 0:
                log.info("epoch %d batch %d loss %.4f", number, index, self.meters["loss"].local())
        log.debug("epoch %d took %.1f s", number, time.monotonic() - started)

    def save(self, number):
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), self.folder / f"kelp_{number}.pt")
        dist.barrier()

    def fit(self):
        for number in range(self.args.epochs):
            self.epoch(number)
            log.info("epoch %d: %s", number, self.meters)
            self.save(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--samples", type=int, default=9600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--bands", type=int, default=8)
    parser.add_argument("--width", type=int, default=40)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--read", type=float, default=0.03, help="seconds that the archive takes for a batch")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    setup_logging(dist.get_rank())
    with tempfile.TemporaryDirectory() as folder:
        Trainer(args, Path(folder)).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
