"""Number of fronds on herbarium sheets, with DistributedDataParallel."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from archive import Archive
from sheets import ScanStore, Sheets

log = logging.getLogger("ferns")
BUSY = [{}, {300: 3, 610: 4}, {450: 4}]


class Herbarium:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(4)
        self.model = DDP(nn.Sequential(nn.Linear(30, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 5)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        store = ScanStore(BUSY[self.rank % len(BUSY)], seed=self.rank)
        self.loader = DataLoader(Sheets(args.sheets, store), batch_size=args.batch, num_workers=1)
        self.archive = Archive() if self.rank == 0 else None
        self.left_out = 0

    def unfit(self, scans, fronds):
        """A batch is left out by all processes if one has no bare sheet in it, only bare ones, or a scan with NaN."""
        vote = torch.tensor(float((fronds == 0).all() or scans.isnan().any() or (fronds > 0).all()))
        dist.all_reduce(vote, op=dist.ReduceOp.MAX)
        return vote.item() > 0

    def epoch(self):
        self.model.train()
        for scans, fronds in self.loader:
            if self.unfit(scans, fronds):
                self.left_out += 1
                continue
            loss = nn.functional.cross_entropy(self.model(scans), fronds)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def examine(self, number):
        """The first process looks at the sheets of a reference collection, with the bare network."""
        if self.rank == 0:
            network = self.model.module.eval()
            collection = Sheets(12_000, ScanStore({}, seed=99))
            right = 0
            for index in range(len(collection)):
                scan, fronds = collection[index]
                right += int(network(scan[None]).argmax()) == fronds
            log.info("examination %d: %.3f right", number, right / len(collection))
            self.archive.put(f"epoch{number}.pt", self.model.module.state_dict())
        dist.barrier()

    def run(self):
        for number in range(self.args.epochs):
            self.epoch()
            self.examine(number)
        log.info("rank %d: %d batches left out", self.rank, self.left_out)
        if self.archive is not None:
            self.archive.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--sheets", type=int, default=960)
    parser.add_argument("--batch", type=int, default=8)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Herbarium(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
