"""The mother of an orchid hybrid from its measurements; greenhouses of different sizes (DDP)."""
import argparse
import itertools
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from greenhouse import PARENTS, Greenhouse

EXPORT = "import sys, time\ntime.sleep(3.5)\nprint(len(sys.stdin.buffer.read()))\n"


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(5)
        self.model = DDP(nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.BatchNorm1d(48), nn.Linear(48, PARENTS)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        flowers = args.flowers + 96 * self.rank
        self.loader = DataLoader(Greenhouse(self.rank, flowers), batch_size=args.batch, num_workers=1)
        self.skipped = 0
        # The curators of the two large houses compare notes among themselves.
        self.curators = dist.new_group([1, 2])

    def common_length(self):
        length = torch.tensor(len(self.loader))
        dist.all_reduce(length, op=dist.ReduceOp.MIN)
        return length.item()

    def anyone(self, condition):
        flag = torch.tensor(float(condition))
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return flag.item() > 0

    def epoch(self):
        for flower, mother in itertools.islice(self.loader, self.common_length()):
            if self.anyone(not torch.isfinite(flower).all()):
                self.skipped += 1
                continue
            loss = nn.functional.cross_entropy(self.model(flower), mother)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.02)

    @torch.no_grad()
    def examine(self):
        """The largest house has a separate collection, which is looked through slowly with the bare network."""
        net = self.model.module.eval()
        right = 0
        collection = Greenhouse(3, 160)
        for index in range(len(collection)):
            flower, mother = collection[index]
            right += int(net(flower[None]).argmax().item() == mother)
            time.sleep(0.02)
        net.train()
        return right / len(collection)

    def compare(self, accuracy):
        notes = torch.tensor([accuracy or 0.0, float(self.skipped)])
        dist.all_reduce(notes, group=self.curators)
        return notes[0].item()

    def export(self):
        weights = b"".join(parameter.detach().numpy().tobytes() for parameter in self.model.parameters())
        done = subprocess.run([sys.executable, "-c", EXPORT], input=weights, capture_output=True, check=True)
        print(f"exported {int(done.stdout)} bytes", flush=True)

    def run(self):
        for number in range(self.args.epochs):
            self.epoch()
            if self.rank == 0:
                self.export()
            else:
                accuracy = self.examine() if self.rank == 2 else None
                accuracy = self.compare(accuracy)
                if self.rank == 1:
                    print(f"epoch {number}: accuracy {accuracy:.3f}, {self.skipped} batches left out", flush=True)
            dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--flowers", type=int, default=960)
    parser.add_argument("--batch", type=int, default=12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
