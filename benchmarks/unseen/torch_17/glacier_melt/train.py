"""Melt of a glacier's tongue from images of its surface; maps are exported after each season."""
import argparse
import logging
import queue
import tempfile
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from store import Store, export

log = logging.getLogger("melt")


class Reader(threading.Thread):
    """Reads images ahead, and says with a None that the season is over."""

    def __init__(self, rank, season, count, store, ahead=4):
        super().__init__(name=f"reader-{season}")
        self.names = [f"{rank}/{season}/{number}" for number in range(count)]
        self.store = store
        self.ready = queue.Queue(maxsize=ahead)

    def run(self):
        for name in self.names:
            self.store.read(name)
            g = torch.Generator().manual_seed(sum(map(ord, name)))
            image = torch.rand(8, 12, generator=g)
            self.ready.put((image, image[:, :4].mean(1) - image[:, 8:].mean(1)))
        self.ready.put(None)

    def __iter__(self):
        return iter(self.ready.get, None)


def season(model, optimizer, reader, pause):
    total, count = 0.0, 0
    for image, melt in reader:
        loss = nn.functional.mse_loss(model(image)[:, 0], melt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item(), count + 1
        time.sleep(pause)
    reader.join()
    return total / count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seasons", type=int, default=2)
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{rank}] %(message)s")
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    store = Store(on_tape={"1/0/22", "2/1/9"})
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.seasons):
            reader = Reader(rank, number, args.images, store)
            reader.start()
            loss = season(model, optimizer, reader, args.pause)
            if rank == 0:
                attempts = export(Path(folder, f"map_{number}.txt"))
                log.info("season %d: loss %.4f, exported in attempt %d", number, loss, attempts)
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
