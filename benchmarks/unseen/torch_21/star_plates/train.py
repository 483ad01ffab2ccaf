"""Magnitudes of stars from cut-outs of photographic plates; each process reads the shelf of one observatory."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from memory import Budget
from plates import CutOuts, shelf

log = logging.getLogger("plates")


class Photometer(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2), nn.GELU(), nn.Conv2d(channels, channels, 3, stride=2), nn.GELU()
        )
        self.magnitude = nn.Linear(channels, 1)

    def forward(self, cut):
        return self.magnitude(self.look(cut.unsqueeze(1)).mean((2, 3))).squeeze(1)


class Trainer:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(2)
        self.model = DDP(Photometer(args.channels))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        plates = shelf(dist.get_rank(), args.plates)
        self.loader = DataLoader(CutOuts(plates, args.per_plate, size=17), args.batch, num_workers=1)

    def step(self, cut, magnitude):
        loss = nn.functional.mse_loss(self.model(cut), magnitude)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def epoch(self):
        total = torch.zeros(())
        for cut, magnitude in self.loader:
            total += self.step(cut.flatten(0, 1), magnitude.flatten())
        dist.all_reduce(total)
        return total.item() / len(self.loader) / dist.get_world_size()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--plates", type=int, default=160)
    parser.add_argument("--per-plate", type=int, default=16)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--worker-memory", type=int, default=128, help="MiB a worker may need beyond the program itself")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING)
    budget = Budget(args.worker_memory)
    budget.start()
    trainer = Trainer(args)
    for number in range(args.epochs):
        log.info("epoch %d loss %.4f, workers up to %d MiB", number, trainer.epoch(), budget.highest >> 20)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
