"""Two species of moths in light traps: DDP, with data from torchdata's nodes."""

import argparse
import itertools
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from chart import Chart
from nights import WINGS, full_batches, nights


class MothTrainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(args.seed)
        network = nn.Sequential(nn.Linear(WINGS, 32), nn.ReLU(), nn.Linear(32, 1))
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.chart = Chart(pause=3.0) if self.rank == 0 else None

    def common_batches(self):
        """The traps have different numbers of records; all stop with the shortest."""
        own = full_batches(self.rank, self.args.records, self.args.batch, self.args.seed)
        count = torch.tensor(own)
        dist.all_reduce(count, op=dist.ReduceOp.MIN)
        return int(count)

    def season(self, count):
        total = torch.zeros(())
        loader = nights(self.rank, self.args.records, self.args.batch, self.args.seed)
        for wings, species in itertools.islice(loader, count):
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(wings).squeeze(-1), species)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.detach()
            time.sleep(0.01 + 0.01 * self.rank)
        return total / count

    def review(self):
        """The first process goes through the plates with the bare network; the others wait for its word."""
        verdict = [None]
        if self.rank == 0:
            with torch.no_grad():
                for _ in range(16):
                    self.model.module(torch.randn(64, WINGS))
                    time.sleep(0.25)
            verdict = ["keep"]
        dist.broadcast_object_list(verdict, src=0)
        return verdict[0]

    def run(self):
        count = self.common_batches()
        for season in range(self.args.seasons):
            loss = self.season(count)
            dist.all_reduce(loss)
            verdict = self.review()
            if self.chart:
                self.chart.add(season, loss.item())
                print(f"season {season}: {loss.item() / dist.get_world_size():.3f}, {verdict}", flush=True)
        if self.chart:
            self.chart.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=600)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seasons", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    MothTrainer(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
