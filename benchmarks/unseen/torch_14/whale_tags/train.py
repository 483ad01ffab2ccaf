"""Recognition of feeding dives from the tags of whales, one tag for each process."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from dives import SAMPLES, Deployment, check
from feeder import Feeder

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("tags")


class DiveNet(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.filter = nn.Conv1d(1, channels, kernel_size=5, padding=2)
        self.judge = nn.Sequential(nn.Linear(channels * SAMPLES, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, profiles):
        features = torch.relu(self.filter(profiles.unsqueeze(1)))
        return self.judge(features.flatten(1)).squeeze(1)


class SeasonTrainer:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(14)
        self.model = DDP(DiveNet())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def step(self, profiles, feeding):
        logits = self.model(check(profiles))
        loss = nn.functional.binary_cross_entropy_with_logits(logits, feeding)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def season(self, number):
        total = torch.zeros(())
        steps = 0
        for profiles, feeding in Feeder(Deployment(self.rank, self.args.dives, number), self.args.batch):
            total += self.step(profiles, feeding)
            steps += 1
            time.sleep(0.02)
        mean = total / steps
        dist.all_reduce(mean)
        return mean.item() / self.world


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=4)
    parser.add_argument("--dives", type=int, default=640)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainer = SeasonTrainer(args)
    for number in range(args.seasons):
        loss = trainer.season(number)
        if trainer.rank == 0:
            log.info("season %d: %.4f", number, loss)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
