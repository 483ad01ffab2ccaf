"""Household incomes from census files: every process converts the file of its region, then all train together."""
import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from households import CONVERTER, REGIONS, write_raw

log = logging.getLogger("census")


class Preparation:
    """Converts a raw file in the background; `table()` waits until the converter has marked the table as done."""

    def __init__(self, raw):
        self.path = raw.with_suffix(".json")
        self.converter = subprocess.Popen([sys.executable, "-c", CONVERTER, str(raw), str(self.path)], stderr=subprocess.DEVNULL)

    def table(self):
        marker = self.path.with_suffix(".done")
        while not marker.exists():
            time.sleep(0.25)
        self.converter.wait()
        rows = torch.tensor(json.loads(self.path.read_text()))
        return rows[:, :3], rows[:, 3]


def fit(args, x, y):
    torch.manual_seed(9)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(3, args.width), nn.ReLU(), nn.Linear(args.width, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(args.steps):
        pick = torch.randint(0, len(x), (args.batch,), generator=g)
        loss = nn.functional.mse_loss(model(x[pick])[:, 0], y[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
        if step % 50 == 0:
            log.info("step %d loss %.3f", step, loss.item())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--households", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    region = REGIONS[rank % len(REGIONS)]
    with tempfile.TemporaryDirectory(prefix=f"census-{region}-") as folder:
        x, y = Preparation(write_raw(folder, region, args.households, seed=rank)).table()
        log.info("%d households", len(x))
        # only now: the converters of large regions need longer than the others
        dist.init_process_group("gloo")
        fit(args, x, y)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
