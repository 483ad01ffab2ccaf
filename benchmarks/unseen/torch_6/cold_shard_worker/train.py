"""Streaming regression on shards that come from slow storage."""
import argparse
import logging
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

log = logging.getLogger("stream")


def write_shards(folder, rank, count, rows):
    g = torch.Generator().manual_seed(rank)
    names = []
    for k in range(count):
        name = os.path.join(folder, f"r{rank}_s{k}.bin")
        with open(name, "wb") as f:
            f.write(torch.randn(rows * 8, generator=g).numpy().tobytes())
        names.append(name)
    return names


class ShardStream(IterableDataset):
    ROW = 8 * 4

    def __init__(self, names, cold=()):
        self.names, self.cold = names, set(cold)

    def read(self, index):
        """Reads in pieces; a cold shard is thawed at a few hundred bytes per read."""
        pause = 0.25 if index in self.cold else 0.001
        with open(self.names[index], "rb") as f:
            while True:
                piece = f.read(self.ROW)
                if not piece:
                    return
                time.sleep(pause)
                yield torch.frombuffer(bytearray(piece), dtype=torch.float32)

    def __iter__(self):
        for index in range(len(self.names)):
            rows = list(self.read(index))
            yield from rows


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--shards", type=int, default=6)
    ap.add_argument("--rows", type=int, default=56)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--cold", type=int, nargs="*", default=[2, 4])
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    names = write_shards(tempfile.mkdtemp(prefix="shards_"), rank, args.shards, args.rows)
    stream = ShardStream(names, args.cold if rank == 1 else ())
    loader = DataLoader(stream, args.batch, num_workers=1, prefetch_factor=2)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 1)))
    opt = torch.optim.SGD(model.parameters(), 1e-2)

    mark = time.monotonic()
    for i, rows in enumerate(loader):
        loss = (model(rows[:, :7]).squeeze(1) - rows[:, 7]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
        if rank == 0 and i % 14 == 13:
            log.info("batch %d loss %.3f (%.1f s)", i, loss.item(), time.monotonic() - mark)
            mark = time.monotonic()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
