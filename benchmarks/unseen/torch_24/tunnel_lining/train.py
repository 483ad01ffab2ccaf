"""Widths of cracks in tunnel linings from laser scans, section by section, one carriage per process."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

import scans
from evaluation import CheckRun

log = logging.getLogger("train")


class CrackNet(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, channels, 5, padding=2), nn.ReLU(),
            nn.Conv1d(channels, channels, 5, padding=2), nn.ReLU(),
        )
        self.head = nn.Linear(2 * channels, 1)

    def forward(self, scan):
        x = self.conv(scan[:, None])
        return self.head(torch.cat([x.amax(2), x.mean(2)], dim=1))


class Inspection:
    def __init__(self, args):
        self.args = args
        self.carriage = dist.get_rank()
        torch.manual_seed(5)
        self.net = DDP(CrackNet())
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=args.lr)
        self.check = CheckRun(self.net.module)

    def loader(self, section, shuffle):
        return DataLoader(section, batch_size=self.args.batch, shuffle=shuffle, collate_fn=scans.collate)

    def train_section(self, number):
        total, batches = 0.0, 0
        for scan, crack in self.loader(scans.training_section(number, self.carriage), shuffle=True):
            loss = nn.functional.smooth_l1_loss(self.net(scan)[:, 0], crack)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total, batches = total + loss.item(), batches + 1
            time.sleep(self.args.pace)
        return total / batches

    def run(self):
        for number in range(self.args.sections):
            loss = self.train_section(number)
            figures = self.check(self.loader(scans.check_section(number, self.carriage), shuffle=False))
            if self.carriage == 0:
                log.info("section %d loss %.4f rings %d rmse %.4f recall %.2f", number, loss,
                         figures["rings"], figures["rmse"], figures["recall"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", type=int, default=8)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--pace", type=float, default=0.02, help="seconds between batches, for the disk's sake")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Inspection(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
